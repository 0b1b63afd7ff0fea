import { Client, Connection } from '@temporalio/client';
import test from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft, assertOneOfEach, hostSideOf } from '../support/host-side.js';
import { resetWorkflow } from '../support/reset-workflow.js';
import { until } from '../support/until.js';

const stack = withStack(test);
let connection: Connection;

test.before(async () => {
  connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
});
test.after.always(() => connection.close());

const wait = { headers: { prefer: 'wait=60' } };

const reset = (job: Job, to: 'first' | 'last'): Promise<void> => resetWorkflow(connection, job, to);
const closed = (job: Job): Promise<unknown> =>
  until('the workflow has closed', async () => {
    const { status } = await new Client({ connection }).workflow.getHandle(job.workflowId).describe();
    return status.name !== 'RUNNING';
  });

for (const to of ['first', 'last'] as const)
  for (const call of ['volumes', 'machines'] as const)
    test(`a provision reset to its ${to} task as its ${call} were being made ends online, with one of each`, async (t) => {
      t.timeout(120_000);
      const ada = await stack().user();
      const { id } = await ada.anAgent();
      const made = { volumes: 'volume.create', machines: 'machine.create' }[call];
      stack().host.fault({
        match: { method: 'POST', path: `//apps/${appNameOf(id)}/${call}$/` },
        mode: 'timeout-after',
        times: 1,
      });
      const { body } = await ada.call('agents.provision', { id });
      await until('the host has done it', () => hostSideOf(stack(), id).count(made) > 0);
      await reset(body.job, to);
      const job = await ada.finished(body.job, 90);
      t.is(job.status, 'succeeded', JSON.stringify(job.error));
      const agent = await ada.agent(id);
      t.is(agent.status, 'online');
      assertOneOfEach(t, stack(), agent, 'reset');
    });

for (const to of ['first', 'last'] as const)
  test(`a start that has ended and is reset to its ${to} task changes nothing, whatever its owner did since`, async (t) => {
    t.timeout(120_000);
    const ada = await stack().user();
    const { id } = await ada.anOnlineAgent();
    await ada.call('agents.stop', { id }, wait);
    const started: Job = (await ada.call('agents.start', { id }, wait)).body.job;
    await ada.call('agents.stop', { id }, wait);
    const [agent, effects] = [await ada.agent(id), hostSideOf(stack(), id).effects.length];
    await reset(started, to);
    await closed(started);
    t.deepEqual(await ada.agent(id), agent);
    t.is(hostSideOf(stack(), id).effects.length, effects, 'nothing happened at the host');
    t.deepEqual((await ada.call('jobs.get', { id: started.id })).body.status, 'succeeded');
  });

test('a delete that has ended and is reset finds nothing to do', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const deleted: Job = (await ada.call('agents.delete', { id }, wait)).body.job;
  await reset(deleted, 'first');
  await closed(deleted);
  assertNothingLeft(t, stack(), id, 'deleted');
  t.is((await ada.call('jobs.get', { id: deleted.id })).body.status, 'succeeded');
});
