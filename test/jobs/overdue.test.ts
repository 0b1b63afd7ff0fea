import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import test from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { startStack, withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

// Workers that are gone: workflows are open, and nobody takes their tasks.
const stack = withStack(test, { workers: false });

const workflowStatus = async ({ workflowId }: Job): Promise<string> => {
  const connection = await Connection.connect({ address: stack().env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    return (await new Client({ connection }).workflow.getHandle(workflowId).describe()).status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'none';
    throw error;
  } finally {
    await connection.close();
  }
};

/** A job that a worker began before it was gone, past its deadline by so long. */
const abandoned = async (ada: ACaller, minutes: number, at = stack()): Promise<{ job: Job; agentId: string }> => {
  const { db } = at;
  const { id: agentId } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id: agentId });
  if (at === stack()) await until('the workflow is open', async () => (await workflowStatus(body.job)) === 'RUNNING');
  const deadlineAt = db.raw('now() - make_interval(mins => ?)', [minutes]);
  const step = { name: 'create the app', status: 'running', attempts: 1, startedAt: new Date(), finishedAt: null };
  await db('jobs')
    .where({ id: body.job.id })
    .update({ status: 'running', startedAt: deadlineAt, deadlineAt, steps: JSON.stringify([step]) });
  await db('agents').where({ id: agentId }).update({ holderJobId: body.job.id });
  return { job: body.job as Job, agentId };
};

const isOnTheList = async (jobId: string): Promise<boolean> => {
  const olivia = await stack().user(undefined, { role: 'operator' });
  const { body } = await olivia.call('operator.attention.list', {}, { query: { limit: 100 } });
  return body.attention.some((one: { job: { id: string } }) => one.job.id === jobId);
};

test('a job whose workers are gone is settled a quarter of an hour past its deadline, and the agent has a way out', async (t) => {
  const ada = await stack().user();
  const { job, agentId } = await abandoned(ada, 16);
  const ended = await ada.finished(job, 30);
  t.like(ended, { status: 'failed', error: { code: 'deadline_exceeded', needsOperator: true, retryable: true } });
  t.deepEqual(
    ended.steps.map(({ status }) => status),
    ['failed'],
  );
  t.like(await ada.agent(agentId), {
    status: 'error',
    activeJobId: null,
    lastError: { code: 'deadline_exceeded', jobId: job.id },
  });
  t.true(await isOnTheList(job.id));
  await until('nothing is left open', async () => (await workflowStatus(job)) === 'TERMINATED');
  t.is((await ada.call('agents.provision', { id: agentId })).status, 202);
  t.is((await ada.call('agents.delete', { id: agentId })).status, 202);
});

test('a job that may still be undoing its work is left alone', async (t) => {
  const ada = await stack().user();
  const { job, agentId } = await abandoned(ada, 14);
  await abandoned(ada, 16).then((other) => ada.finished(other.job, 30)); // a round has passed
  t.is((await ada.call('jobs.get', { id: job.id })).body.status, 'running');
  t.is((await ada.agent(agentId)).status, 'provisioning');
});

test('a job that no worker began for an hour ends; a deletion waits on', async (t) => {
  const ada = await stack().user();
  const [one, other] = [await ada.anAgent(), await ada.anAgent()];
  const provision = (await ada.call('agents.provision', { id: one.id })).body.job as Job;
  const deletion = (await ada.call('agents.delete', { id: other.id })).body.job as Job;
  // The older one comes first, if it comes at all.
  for (const [job, minutes] of [
    [deletion, 62],
    [provision, 61],
  ] as const)
    await stack()
      .db('jobs')
      .where({ id: job.id })
      .update({ createdAt: stack().db.raw('now() - make_interval(mins => ?)', [minutes]) });
  t.like((await ada.finished(provision, 30)).error, { code: 'deadline_exceeded', needsOperator: true });
  t.is((await ada.agent(one.id)).status, 'error');
  t.is((await ada.call('jobs.get', { id: deletion.id })).body.status, 'queued');
});

test('also while Temporal cannot be reached', async (t) => {
  t.timeout(60_000);
  const lonely = await startStack({ workers: false, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  t.teardown(() => lonely.close());
  const ada = await lonely.user();
  const { job, agentId } = await abandoned(ada, 16, lonely);
  t.like((await ada.finished(job, 30)).error, { code: 'deadline_exceeded', needsOperator: true });
  t.is((await ada.agent(agentId)).status, 'error');
});

test('an agent that waits for a job which is not there gets a way out', async (t) => {
  const ada = await stack().user();
  const { db } = stack();
  const long = db.raw(`now() - interval '2 minutes'`);
  const lost = 'job_01jd0000000000000000000000';
  const provisioned = { hostMachineId: 'm1', provisionedAt: new Date(), updatedAt: long };
  const [starting, online, fresh] = [await ada.anAgent(), await ada.anAgent(), await ada.anAgent()];
  // A job that holds nothing, of a release to come, is no reason to wait.
  const { body } = await ada.call('agents.provision', { id: starting.id });
  await db('jobs').where({ id: body.job.id }).update({ kind: 'agent.of-tomorrow', lockKey: null });
  await db('agents')
    .where({ id: starting.id })
    .update({ status: 'starting', activeJobId: lost, holderJobId: lost, ...provisioned });
  await db('agents')
    .where({ id: online.id })
    .update({ status: 'online', activeJobId: lost, ...provisioned });
  await db('agents').where({ id: fresh.id }).update({ status: 'stopping', updatedAt: new Date() });
  await until('it is rescued', async () => (await ada.agent(starting.id)).status === 'error');
  t.like(await ada.agent(starting.id), { activeJobId: null, lastError: { code: 'outcome_unknown', jobId: null } });
  t.like(await ada.agent(online.id), { status: 'online', activeJobId: null, lastError: null });
  t.is((await ada.agent(fresh.id)).status, 'stopping', 'not before a minute');

  t.is((await ada.call('agents.start', { id: starting.id })).status, 202);
});
