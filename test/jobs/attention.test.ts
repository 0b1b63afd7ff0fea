import test from 'ava';
import { settleJob } from '../../src/models/settle-job.js';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

/** A provision that failed in a way that needs an operator. */
const aFailedJob = async (ada: ACaller): Promise<{ id: string; agentId: string }> => {
  const { id: agentId } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id: agentId });
  const error = { code: 'vendor_misconfigured', message: 'refused', retryable: true, needsOperator: true };
  await stack().db.transaction((trx) => settleJob(trx, body.job.id, { status: 'failed', error }));
  return { id: body.job.id as string, agentId };
};

const waiting = async (olivia: ACaller): Promise<string[]> => {
  const { body } = await olivia.call('operator.attention.list', {}, { query: { limit: 100 } });
  return body.attention.map((one: { job: { id: string } }) => one.job.id);
};

test('what needs an operator is on their list, with its agent, and on nobody else’s', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const job = await aFailedJob(ada);
  const { body } = await olivia.call('operator.attention.list');
  const mine = body.attention.find((one: { job: { id: string } }) => one.job.id === job.id);
  t.like(mine, {
    job: { error: { needsOperator: true, message: 'refused' } },
    advice: 'Mend HOST_API_TOKEN, HOST_ORG, then retry.',
    agent: { id: job.agentId, status: 'error' },
  });
  const told = /does not let us in.* Provision the agent again/;
  t.regex((await ada.call('jobs.get', { id: job.id })).body.error.message, told);
  t.regex((await ada.agent(job.agentId)).lastError?.message ?? '', told);
  t.is((await ada.call('operator.attention.list')).body.code, 'operator_required');
});

test('a retry starts the work again, once, and says who asked and why', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const job = await aFailedJob(ada);
  const retry = () => olivia.call('operator.jobs.retry', { id: job.id }, { body: { reason: 'the key was wrong' } });
  const replies = await Promise.all(Array.from({ length: 5 }, retry));
  t.is(replies.filter((reply) => reply.status === 202).length, 1);
  t.true(replies.every((reply) => reply.status === 202 || reply.body.code === 'conflict'));
  const { body } = replies.find((reply) => reply.status === 202) ?? { body: undefined };
  t.like(body.job, { kind: 'agent.provision', status: 'queued', requestedBy: { type: 'operator' } });
  t.is((await ada.agent(job.agentId)).status, 'provisioning');
  t.false((await waiting(olivia)).includes(job.id));
  const audit = await ada.call('audit.list', {}, { query: { subject: job.id } });
  t.like(audit.body.events[0], { action: 'job.retried', actor: { type: 'operator' }, reason: 'the key was wrong' });
});

test('what its owner has mended since is on the list no longer', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const end = (jobId: string, status: 'failed' | 'succeeded') => {
    const error = { code: 'vendor_misconfigured', message: 'refused', retryable: true, needsOperator: true };
    const outcome = status === 'failed' ? { status, error } : { status };
    return stack().db.transaction((trx) => settleJob(trx, jobId, outcome));
  };
  const mended = await aFailedJob(ada);
  const again = await ada.call('agents.provision', { id: mended.agentId });
  t.true((await waiting(olivia)).includes(mended.id), 'trying is not mending');
  await end(again.body.job.id, 'succeeded');
  t.false((await waiting(olivia)).includes(mended.id));

  const { id } = await ada.anAgent();
  const failed = await ada.call('agents.delete', { id });
  await end(failed.body.job.id, 'failed');
  t.true((await waiting(olivia)).includes(failed.body.job.id));
  const deleted = await ada.call('agents.delete', { id });
  await end(deleted.body.job.id, 'succeeded');
  t.false((await waiting(olivia)).includes(failed.body.job.id));
});

test('a job resolved by hand leaves the list; a reason is asked', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const job = await aFailedJob(ada);
  t.is((await olivia.call('operator.jobs.resolve', { id: job.id }, { body: { reason: ' ' } })).status, 400);
  t.is((await olivia.call('operator.jobs.resolve', { id: job.id })).status, 400);
  const resolved = await olivia.call('operator.jobs.resolve', { id: job.id }, { body: { reason: 'told the owner' } });
  t.is(resolved.status, 200);
  t.false((await waiting(olivia)).includes(job.id));
  t.is(
    (await olivia.call('operator.jobs.resolve', { id: job.id }, { body: { reason: 'again' } })).body.code,
    'conflict',
  );
});
