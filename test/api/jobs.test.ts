import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { ACaller } from '../support/a-caller.js';
import { endJob, failure } from '../support/a-job.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

/** Nobody works here: a job stays queued until a test ends it. */
const stack = withStack(test, { workers: false });

const prefer = (value: string) => ({ headers: { prefer: value } });

/** An agent whose provision is queued. */
const aQueuedJob = async (ada: ACaller) => {
  const { id } = await ada.anAgent();
  const reply = await ada.call('agents.provision', { id });
  return { agentId: id, job: reply.body.job, reply };
};

test('work that takes long is accepted with the job and where to find it', async (t) => {
  const ada = await stack().user();
  const { reply, job } = await aQueuedJob(ada);
  t.is(reply.status, 202);
  t.is(reply.headers.get('location'), `/api/jobs/${job.id}`);
  t.is(reply.headers.get('preference-applied'), null);
  t.like(reply.body, { ok: true, job: { status: 'queued', finishedAt: null, requestedBy: { type: 'user' } } });
  t.deepEqual((await ada.call('jobs.get', { id: job.id })).body, job);
});

test('a call that may wait is held for as long as it likes, and answers 202 when that was too short', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const began = Date.now();
  const reply = await ada.call('agents.provision', { id }, prefer('wait=1'));
  t.true(Date.now() - began >= 1_000);
  t.is(reply.status, 202);
  t.is(reply.headers.get('preference-applied'), 'wait=1');
  const again = await ada.call('jobs.get', { id: reply.body.job.id }, prefer('respond-async, wait="1"'));
  t.is(again.status, 200);
  t.is(again.headers.get('preference-applied'), 'wait=1');
  t.is(again.body.status, 'queued');
});

test('a job that ends while it is waited for answers 200 at once, with the agent as it is then', async (t) => {
  const ada = await stack().user();
  const { agentId, job } = await aQueuedJob(ada);
  const waiting = ada.call('agents.provision', { id: agentId }, prefer('wait=30'));
  await sleep(200);
  await endJob(stack(), job, { status: 'succeeded', result: { machine: 'm1' } });
  const reply = await waiting;
  t.is(reply.status, 200);
  t.is(reply.headers.get('preference-applied'), 'wait=30');
  t.like(reply.body, {
    ok: true,
    job: { status: 'succeeded', result: { machine: 'm1' } },
    agent: { status: 'online' },
  });
});

test('a job that fails while it is waited for answers 200 with what went wrong', async (t) => {
  const ada = await stack().user();
  const { agentId, job } = await aQueuedJob(ada);
  const waiting = ada.call('agents.provision', { id: agentId }, prefer('wait=30'));
  await sleep(200);
  await endJob(stack(), job, failure);
  const { status, body } = await waiting;
  t.is(status, 200);
  const error = { code: 'host_capacity', retryable: true, needsOperator: false };
  t.like(body, { ok: false, job: { status: 'failed', error }, agent: { status: 'error' } });
  t.regex(body.job.error.message, /no room .* Provision the agent again later, or delete it\.$/);
  t.like(body.agent.lastError, { code: 'host_capacity', jobId: job.id });
});

test('nobody waits longer than 60 seconds, and not at all for what makes no sense', async (t) => {
  const ada = await stack().user();
  const { job } = await aQueuedJob(ada);
  const long = ['wait=61', 'wait=999999999'].map((value) => ada.call('jobs.get', { id: job.id }, prefer(value)));
  for (const value of [
    'wait=0',
    'wait',
    'wait=',
    'wait=-1',
    'wait=1.5',
    'wait=abc',
    'wait=9999999999',
    'await=5',
    'waiting=5',
    '',
  ])
    t.is((await ada.call('jobs.get', { id: job.id }, prefer(value))).headers.get('preference-applied'), null, value);
  await endJob(stack(), job, failure);
  for (const reply of await Promise.all(long)) t.is(reply.headers.get('preference-applied'), 'wait=60');
});

test('a queued job that is canceled ends at once and leaves its agent offline and free', async (t) => {
  const ada = await stack().user();
  const { agentId, job } = await aQueuedJob(ada);
  const reply = await ada.call('jobs.cancel', { id: job.id });
  t.is(reply.status, 202, JSON.stringify(reply.body));
  t.like(reply.body, {
    ok: true,
    job: { id: job.id, status: 'canceled', error: { code: 'canceled' }, cancelable: false },
  });
  t.is(reply.headers.get('location'), `/api/jobs/${job.id}`);
  t.like(await ada.agent(agentId), { status: 'offline', desiredStatus: 'offline', activeJobId: null, lastError: null });
  isProblem(t, await ada.call('jobs.cancel', { id: job.id }), 'conflict', 'a second cancel');
  const next = await ada.call('agents.provision', { id: agentId });
  t.is(next.status, 202, 'the lock is free');
  t.not(next.body.job.id, job.id);
});

test('a delete cannot be canceled', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.delete', { id });
  t.false(body.job.cancelable);
  isProblem(t, await ada.call('jobs.cancel', { id: body.job.id }), 'conflict');
  t.is((await ada.agent(id)).status, 'deleting');
});

test("another user's job cannot be read, watched, canceled or listed", async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const { agentId, job } = await aQueuedJob(ada);
  for (const id of ['jobs.get', 'jobs.events', 'jobs.cancel'] as const)
    isProblem(t, await eve.call(id, { id: job.id }, prefer('wait=1')), 'not_found', id);
  t.deepEqual((await eve.call('jobs.list', {}, { query: { agentId } })).body, { jobs: [], nextCursor: null });
  t.is((await ada.call('jobs.get', { id: job.id })).body.status, 'queued');
});
