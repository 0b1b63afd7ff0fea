import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import test, { type ExecutionContext } from 'ava';
import type { Fault } from '../../local/faults.js';
import { freePort } from '../../local/process/ports.js';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { startProcess } from '../support/a-process.js';
import { type Stack, startStack, withStack } from '../support/a-stack.js';
import { appNameOf } from '../support/host-side.js';
import { type Lanes, startLanes } from '../support/lanes.js';
import { until } from '../support/until.js';

const stack = withStack(test);
let lanes: Lanes;
let connection: Connection;

test.before(async (t) => {
  t.timeout(120_000);
  connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
  lanes = await startLanes(2, 'host');
});
test.after.always(async (t) => {
  t.timeout(60_000);
  await lanes.close();
  await connection.close();
});

/** Leaves one line on the volume each time it is run. */
const script = (seconds: number): string =>
  `echo ran >> "$ACP_STATE_DIR/ran"; sleep ${seconds}; echo over >> "$ACP_STATE_DIR/ran"`;
const command = (by: ACaller, { id }: Agent, seconds: number, timeoutSeconds = 30) =>
  by.call('agents.run-command', { id }, { body: { command: ['sh', '-c', script(seconds)], timeoutSeconds } });
const linesOf = async ({ hostFolder }: Stack, agent: Agent): Promise<string[]> => {
  const file = join(hostFolder, 'volumes', agent.hostVolumeId ?? '', 'acp', 'ran');
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(0, -1);
};
const execs = ({ host }: Stack, { hostMachineId }: Agent): number =>
  host.effects().filter(({ action, id }) => action === 'exec' && id === hostMachineId).length;
const hasBegun = (where: Stack, agent: Agent) => until('it runs', async () => (await linesOf(where, agent)).length > 0);
const callsLeft = ({ db }: Stack, job: Job) =>
  db('machine_calls').where({ jobId: job.id }).first<{ sealedRequest: unknown; sealedAnswer: unknown }>();

/** It ended so, its agent is as it was, and nothing of it is left to be run again. */
const assertUnknown = async (
  t: ExecutionContext,
  where: Stack,
  by: ACaller,
  agent: Agent,
  job: Job,
  context: string,
) => {
  t.like(job, { status: 'failed', result: null, cancelable: false }, `${context}: ${JSON.stringify(job)}`);
  t.like(job.error, { code: 'outcome_unknown', retryable: false, needsOperator: false }, context);
  t.deepEqual(
    job.steps.map(({ status }) => status),
    ['failed'],
    context,
  );
  t.like(
    await by.agent(agent.id),
    { status: 'online', activeJobId: null, lastError: null, updatedAt: agent.updatedAt },
    context,
  );
  t.like(await callsLeft(where, job), { sealedRequest: null, sealedAnswer: null }, context);
};

test('the host worker killed while a command runs: it ran once, and ends outcome_unknown within the heartbeat', async (t) => {
  t.timeout(120_000);
  await lanes.use(async (lane) => {
    const ada = await lane.stack.user();
    const agent = await ada.anOnlineAgent();
    const { body } = await command(ada, agent, 12);
    await hasBegun(lane.stack, agent);
    const since = Date.now();
    await lane.killWorker();
    await lane.startWorker();
    const job = await ada.finished(body.job);
    const seconds = (Date.parse(job.finishedAt ?? '') - since) / 1_000;
    await assertUnknown(t, lane.stack, ada, agent, job, 'killed');
    t.true(seconds < 20, `ended ${seconds} s after the kill`);
    await until('the command is over', async () => (await linesOf(lane.stack, agent)).includes('over'));
    t.deepEqual(await linesOf(lane.stack, agent), ['ran', 'over'], 'the machine went on with it, once');
    t.is(execs(lane.stack, agent), 1);
    t.log(`ended ${seconds} s after the kill`);
  });
});

for (const moment of ['before', 'after'] as const)
  test(`the host worker killed just ${moment} the host has done it: never twice`, async (t) => {
    t.timeout(120_000);
    await lanes.use(async (lane) => {
      const ada = await lane.stack.user();
      const agent = await ada.anOnlineAgent();
      lane.proxy.record();
      const reached = lane.proxy.holdAt({ call: 'POST /v1/apps/{app}/machines/{machine}/exec #1', moment });
      const { body } = await command(ada, agent, 0);
      await reached;
      await lane.killWorker();
      await lane.startWorker();
      const job = await ada.finished(body.job);
      await assertUnknown(t, lane.stack, ada, agent, job, moment);
      t.is(execs(lane.stack, agent), moment === 'before' ? 0 : 1, 'nobody can know which');
    });
  });

test('the host worker killed before it has taken a command: another one runs it, once', async (t) => {
  t.timeout(120_000);
  await lanes.use(async (lane) => {
    const ada = await lane.stack.user();
    const agent = await ada.anOnlineAgent();
    await lane.killWorker();
    const { body } = await command(ada, agent, 0);
    await lane.startWorker();
    t.is((await ada.finished(body.job)).status, 'succeeded');
    t.deepEqual(await linesOf(lane.stack, agent), ['ran', 'over']);
  });
});

test('a database that breaks off as a command ends: what it said is kept when it is back', async (t) => {
  t.timeout(120_000);
  await lanes.use(async ({ stack: own }) => {
    const ada = await own.user();
    const agent = await ada.anOnlineAgent();
    const job = (await command(ada, agent, 1)).body.job as Job;
    await hasBegun(own, agent);
    const trx = await own.db.transaction();
    await trx('jobs').where({ id: job.id }).select('id').forUpdate();
    const { rows } = await trx.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid');
    const breakOff = async (): Promise<boolean> =>
      (
        await own.db.raw<{ rows: unknown[] }>(
          'select pg_terminate_backend(pid) from pg_stat_activity where ? = any(pg_blocking_pids(pid))',
          [rows[0]?.pid ?? 0],
        )
      ).rows.length > 0;
    await until('the result is about to be written', breakOff);
    await until('it is tried again', breakOff);
    await trx.rollback();
    t.like(await ada.finished(job), { status: 'succeeded', result: { exitCode: 0, stdout: '' } });
    t.deepEqual(await linesOf(own, agent), ['ran', 'over']);
  });
});

test('a host worker told to stop gives up a long command as unknown', async (t) => {
  t.timeout(120_000);
  const own = await startStack({ workers: ['control'] });
  t.teardown(() => own.close());
  const worker = await startProcess('workers/host', own.env);
  t.teardown(() => worker.kill());
  const ada = await own.user();
  const agent = await ada.anOnlineAgent();
  const { body } = await command(ada, agent, 50, 60);
  await hasBegun(own, agent);
  const stopped = worker.stop();
  const job = await ada.finished(body.job);
  await assertUnknown(t, own, ada, agent, job, 'stopped');
  t.is(await stopped, 'exit code 0');
  t.is(execs(own, agent), 1);
});

const lies: [string, Partial<Fault> & Pick<Fault, 'mode'>][] = [
  ['breaks the connection after it', { mode: 'reset-after' }],
  ['never answers', { mode: 'timeout-after' }],
  ['answers nonsense', { mode: 'malformed' }],
  ['fails after it', { mode: 'error-after', status: 500 }],
  ['fails before it', { mode: 'error-before', status: 503 }],
  ['breaks the connection before it', { mode: 'down', times: 1 }],
];
test('a host that fails, breaks off, says nothing or nonsense: once at most, and outcome_unknown', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const match = { path: `//apps/${appNameOf(agent.id)}/machines/.*exec$/` };
  const expected: string[] = [];
  for (const [what, fault] of lies) {
    stack().host.fault({ times: 1, ...fault, match });
    const job = await ada.finished((await command(ada, agent, 0, 1)).body.job);
    await assertUnknown(t, stack(), ada, agent, job, what);
    if (fault.mode.endsWith('-after') || fault.mode === 'malformed') expected.push('ran', 'over');
    t.deepEqual(await linesOf(stack(), agent), expected, what);
    t.is(execs(stack(), agent), expected.length / 2, what);
  }
});

const refusals: [number, string, boolean][] = [
  [400, 'upstream_failed', false],
  [401, 'vendor_misconfigured', true],
  [404, 'agent_not_online', false],
  [409, 'conflict', false],
  [412, 'agent_not_online', false],
];
test('a host that refuses a command: it has not run, and its end says why', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const match = { path: `//apps/${appNameOf(agent.id)}/machines/.*exec$/` };
  for (const [status, code, needsOperator] of refusals) {
    stack().host.fault({
      mode: 'error-before',
      status,
      match,
      body: { error: 'words of the host', status: 'unknown' },
    });
    const job = await ada.finished((await command(ada, agent, 0)).body.job);
    t.like(
      job,
      { status: 'failed', error: { code, needsOperator, retryable: true } },
      `${status} ${JSON.stringify(job)}`,
    );
    t.notRegex(JSON.stringify(job), /words of the host/);
  }
  t.is((await ada.agent(agent.id)).status, 'online');
  t.is(execs(stack(), agent), 0);
  // One that is too busy is asked again, because nothing has run.
  stack().host.fault({ mode: 'rate-limit', retryAfter: 1, times: 2, match });
  t.is((await ada.finished((await command(ada, agent, 0)).body.job)).status, 'succeeded');
  t.deepEqual(await linesOf(stack(), agent), ['ran', 'over']);
});

test('a host that nobody listens at: it has not run, and says so', async (t) => {
  t.timeout(120_000);
  const own = await startStack({ workers: ['control'] });
  t.teardown(() => own.close());
  const worker = await startProcess('workers/host', {
    ...own.env,
    HOST_API_URL: `http://127.0.0.1:${await freePort()}/v1`,
  });
  t.teardown(() => worker.kill());
  const ada = await own.user();
  const { id } = await ada.anAgent();
  const machine = { hostAppName: 'acp-x', hostMachineId: 'x', provisionedAt: new Date() };
  await own
    .db('agents')
    .update({ ...machine, status: 'online', desiredStatus: 'online' })
    .where({ id });
  const job = await ada.finished((await command(ada, await ada.agent(id), 0)).body.job);
  t.like(job, { status: 'failed', error: { code: 'host_unreachable', retryable: true } });
});

test('a workflow reset by hand, while its command runs and after: it is not run again', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const client = new Client({ connection });
  const reset = async (job: Job) => {
    const handle = client.workflow.getHandle(job.workflowId);
    const { runId } = await handle.describe();
    const { events } = await handle.fetchHistory();
    const scheduled = events?.find((event) => event.workflowTaskCompletedEventAttributes)?.eventId;
    await connection.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: job.workflowId, runId },
      reason: 'by hand',
      requestId: `${runId}-reset`,
      workflowTaskFinishEventId: scheduled ?? null,
    });
    const again = client.workflow.getHandle(job.workflowId);
    t.not((await again.describe()).runId, runId);
    await again.result().catch(() => undefined);
  };
  const running = (await command(ada, agent, 3)).body.job as Job;
  await hasBegun(stack(), agent);
  await reset(running);
  await assertUnknown(t, stack(), ada, agent, await ada.finished(running), 'reset while it ran');
  await until('it is over', async () => (await linesOf(stack(), agent)).includes('over'));
  t.deepEqual(await linesOf(stack(), agent), ['ran', 'over']);

  const ended = await ada.finished((await command(ada, agent, 0)).body.job);
  t.is(ended.status, 'succeeded');
  await reset(ended);
  t.deepEqual(await ada.finished(ended), ended, 'nor is what it said lost');
  t.is(execs(stack(), agent), 2);
});

test('a workflow terminated by hand: the dispatcher ends the job, and asks no operator', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const { db, host } = stack();
  host.fault({ mode: 'timeout-after', times: 1, match: { path: `//apps/${appNameOf(agent.id)}/machines/.*exec$/` } });
  const job = (await command(ada, agent, 0)).body.job as Job;
  await hasBegun(stack(), agent);
  await new Client({ connection }).workflow.getHandle(job.workflowId).terminate('by hand');
  await db('jobs')
    .where({ id: job.id })
    .update({ deadlineAt: db.raw(`now() - interval '11 s'`) });
  await assertUnknown(t, stack(), ada, agent, await ada.finished(job), 'terminated');
  t.deepEqual(await linesOf(stack(), agent), ['ran', 'over']);
});
