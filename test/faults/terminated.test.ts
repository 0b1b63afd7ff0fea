import { Client, Connection } from '@temporalio/client';
import test, { type ExecutionContext } from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft, assertOneOfEach, hostSideOf } from '../support/host-side.js';
import { until } from '../support/until.js';

const stack = withStack(test);
let connection: Connection;

test.before(async () => {
  connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
});
test.after.always(() => connection.close());

const wait = { headers: { prefer: 'wait=60' } };

/** Calls after whose work the host falls silent: method, path below the app, and the effect by which the work is known. */
const calls = {
  volumes: { method: 'POST', path: '/volumes', effect: 'volume.create' },
  machines: { method: 'POST', path: '/machines', effect: 'machine.create' },
  secrets: { method: 'POST', path: '/secrets', effect: 'secrets.set' },
  app: { method: 'DELETE', path: '', effect: 'app.delete' },
} as const;

/** Asks for a job, waits until the host has done that call of it but not said so, and terminates its workflow as an operator might. */
const terminated = async (
  ada: ACaller,
  verb: 'provision' | 'start' | 'delete',
  id: string,
  call: keyof typeof calls,
): Promise<Job> => {
  const { method, path, effect } = calls[call];
  const count = () => hostSideOf(stack(), id).count(effect);
  const before = count();
  stack().host.fault({ match: { method, path: `//apps/${appNameOf(id)}${path}$/` }, mode: 'timeout-after', times: 1 });
  const { body } = await ada.call(`agents.${verb}`, { id });
  await until('the host has done it', () => count() > before);
  await new Client({ connection }).workflow.getHandle(body.job.workflowId).terminate('by hand');
  return body.job as Job;
};

const assertSettled = async (t: ExecutionContext, ada: ACaller, job: Job): Promise<void> => {
  const ended = await ada.finished(job, 60);
  t.is(ended.status, 'failed');
  t.like(ended.error, { code: 'outcome_unknown', needsOperator: true });
  t.true(
    ended.steps.every((step) => ['done', 'failed', 'skipped'].includes(step.status)),
    'no step is left open',
  );
  const agent = await ada.agent(job.subject.id);
  t.like(agent, { status: 'error', activeJobId: null });
  t.like(agent.lastError, { code: 'outcome_unknown', jobId: job.id });
};

/** A job past its deadline is looked at soon; one that is merely silent after half a minute, which one test waits for. */
const hurry = (job: Job): Promise<unknown> =>
  stack()
    .db('jobs')
    .where({ id: job.id })
    .update({ deadlineAt: stack().db.raw(`now() - interval '11 s'`) });

test('a start whose workflow was terminated: the job ends after half a minute of silence, and start leads out', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  const job = await terminated(ada, 'start', id, 'secrets');
  await assertSettled(t, ada, job);
  const started = await ada.call('agents.start', { id }, wait);
  t.like(started.body, { ok: true, agent: { status: 'online', lastError: null } });
  assertOneOfEach(t, stack(), await ada.agent(id), 'started again');
});

for (const call of ['volumes', 'machines'] as const) {
  test(`a provision terminated as its ${call} were being made: a later provision finds it and goes on`, async (t) => {
    t.timeout(120_000);
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const job = await terminated(ada, 'provision', id, call);
    await hurry(job);
    await assertSettled(t, ada, job);
    const again = await ada.call('agents.provision', { id }, wait);
    t.like(again.body, { ok: true, agent: { status: 'online', lastError: null } }, JSON.stringify(again.body));
    assertOneOfEach(t, stack(), await ada.agent(id), 'provisioned again');
  });

  test(`a provision terminated as its ${call} were being made: delete leaves nothing`, async (t) => {
    t.timeout(120_000);
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const job = await terminated(ada, 'provision', id, call);
    await hurry(job);
    await assertSettled(t, ada, job);
    const deleted = await ada.call('agents.delete', { id }, wait);
    t.is(deleted.body.job.status, 'succeeded', JSON.stringify(deleted.body));
    assertNothingLeft(t, stack(), id, 'deleted');
  });
}

test('a delete terminated as the app was being removed: delete leads out', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const job = await terminated(ada, 'delete', id, 'app');
  await hurry(job);
  await assertSettled(t, ada, job);
  const deleted = await ada.call('agents.delete', { id }, wait);
  t.is(deleted.body.job.status, 'succeeded', JSON.stringify(deleted.body));
  t.is((await ada.call('agents.get', { id })).status, 404);
  assertNothingLeft(t, stack(), id, 'deleted');
});
