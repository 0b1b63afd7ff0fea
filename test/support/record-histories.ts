import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import test from 'ava';
import { historiesFolder } from './recorded.js';
import { startStack } from './a-stack.js';

/** Not a test: lives each workflow once and keeps its history. Run by `RELEASE=<version> npm run record-histories`. */
const release = process.env['RELEASE'] ?? 'unreleased';

test('records one history of each workflow', async (t) => {
  const stack = await startStack();
  const connection = await Connection.connect({ address: stack.env['TEMPORAL_ADDRESS'] ?? '' });
  const client = new Client({ connection });
  const wait = { headers: { prefer: 'wait=60' } };
  const keep = async (name: string, workflowId: string) => {
    const history = await client.workflow.getHandle(workflowId).fetchHistory();
    mkdirSync(historiesFolder, { recursive: true });
    // Where it was recorded is nobody's business.
    const text = historyToJSON(history)
      .replaceAll(/"(identity|stackTrace)": ?"(?:[^"\\]|\\.)*"/g, '"$1": ""')
      .replaceAll(`${process.pid}@${hostname()}`, 'worker');
    writeFileSync(join(historiesFolder, `${release}.${name}.json`), text);
    t.log(`${name}: ${history.events?.length ?? 0} events`);
  };
  try {
    const ada = await stack.user();
    const { id } = await ada.anAgent();
    for (const [name, verb] of [
      ['provisionAgent', 'agents.provision'],
      ['rotateGatewayToken', 'agents.rotate-gateway-token'],
      ['stopAgent', 'agents.stop'],
      ['startAgent', 'agents.start'],
      ['deleteAgent', 'agents.delete'],
    ] as const) {
      const { body } = await ada.call(verb, { id }, wait);
      t.is(body.job.status, 'succeeded');
      await keep(name, body.job.workflowId);
    }
    const online = await ada.anOnlineAgent();
    const command = () => ada.call('agents.run-command', { id: online.id }, { ...wait, body: { command: ['true'] } });
    await keep('runCommand', (await command()).body.job.workflowId);
    stack.host.fault({ match: { method: 'POST', path: '/exec' }, mode: 'reset-after', times: 1 });
    await keep('runCommand-unknown', (await command()).body.job.workflowId);
    await ada.call('agents.logs', { id: online.id });
    const { jobs } = (await ada.call('jobs.list', {}, { query: { kind: 'agent.logs' } })).body;
    await keep('readLogs', jobs[0].workflowId);
    const { workflowId } = await client.workflow.start('reconcileHost', {
      workflowId: `${stack.env['TEMPORAL_QUEUE_PREFIX']}reconcile`,
      taskQueue: `${stack.env['TEMPORAL_QUEUE_PREFIX']}control`,
    });
    await client.workflow.getHandle(workflowId).result();
    await keep('reconcileHost', workflowId);
    const other = await ada.anAgent();
    stack.host.fault({ match: { method: 'POST', path: '/secrets' }, mode: 'delay', delayMs: 1_500, times: 1 });
    const { body } = await ada.call('agents.provision', { id: other.id });
    await new Promise((resolve) => setTimeout(resolve, 700));
    await ada.call('jobs.cancel', { id: body.job.id });
    t.is((await ada.finished(body.job)).status, 'canceled');
    await keep('provisionAgent-canceled', body.job.workflowId);
  } finally {
    await connection.close();
    await stack.close();
  }
});
