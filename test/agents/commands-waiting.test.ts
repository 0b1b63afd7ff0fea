import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { ACaller } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { type Stack, withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';
import { startWorkers } from '../support/workers.js';

/** Without workers, so that commands wait as long as a test likes. */
const stack = withStack(test, { workers: false });

/** An agent that passes for online; where its machine is nobody asks before a worker does. */
const anAgentAsIfOnline = async ({ db }: Stack, by: ACaller): Promise<string> => {
  const { id } = await by.anAgent();
  const hostAppName = `acp-test-${id.replace('agt_', '')}`;
  await db('agents')
    .update({
      status: 'online',
      desiredStatus: 'online',
      hostAppName,
      hostMachineId: 'none',
      provisionedAt: new Date(),
    })
    .where({ id });
  return id;
};

const body = { command: ['sh', '-c', 'echo a-waiting-command'] };
const ask = (by: ACaller, id: string, headers: Record<string, string> = {}) =>
  by.call('agents.run-command', { id }, { body, headers });
const callOf = (jobId: string) =>
  stack().db('machine_calls').where({ jobId }).first<{ sealedRequest: unknown } | undefined>();

test('a command that waits is sealed, can be canceled, and is wiped then', async (t) => {
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(stack(), ada);
  const job = (await ask(ada, id)).body.job;
  t.truthy((await callOf(job.id))?.sealedRequest);
  t.notRegex(JSON.stringify(await callOf(job.id)), /a-waiting-command/);
  const { body: canceled } = await ada.call('jobs.cancel', { id: job.id });
  t.like(canceled.job, { status: 'canceled', result: null, error: { code: 'canceled' } });
  t.is((await callOf(job.id))?.sealedRequest, null);
  t.is((await ada.agent(id)).status, 'online', 'the agent is what it was');
});

test('eight commands at a time for one agent, however many ask at once', async (t) => {
  const ada = await stack().user();
  const [id, other] = [await anAgentAsIfOnline(stack(), ada), await anAgentAsIfOnline(stack(), ada)];
  const replies = await Promise.all(Array.from({ length: 20 }, () => ask(ada, id)));
  t.is(replies.filter(({ status }) => status === 202).length, 8);
  const refused = replies.filter(({ status }) => status !== 202);
  for (const reply of refused) isProblem(t, reply, 'rate_limited');
  t.is(refused[0]?.headers.get('retry-after'), '5');
  t.is((await ask(ada, other)).status, 202, 'another agent has its own eight');
  const { jobs } = (await ada.call('jobs.list', {}, { query: { agentId: id } })).body;
  await ada.call('jobs.cancel', { id: jobs[0].id });
  t.is((await ask(ada, id)).status, 202, 'one that ended makes room');
});

test('one key runs a command once, over two API processes, and replays its job', async (t) => {
  const other = await anotherApi(stack());
  t.teardown(() => other.process.stop());
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(stack(), ada);
  const headers = { 'idempotency-key': 'once' };
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, n) => ask(n % 2 ? ada : other.as(ada), id, headers)),
  );
  t.deepEqual([...new Set(replies.map(({ status }) => status))], [202]);
  t.is(new Set(replies.map((reply) => reply.body.job.id)).size, 1);
  t.is(replies.filter((reply) => reply.headers.get('idempotent-replayed') === 'true').length, 11);
  t.is((await stack().db('jobs').where({ agentId: id })).length, 1);
  t.is(
    (await ada.call('audit.list', {}, { query: { subject: id, action: 'agent.command_run' } })).body.events.length,
    1,
  );
  const { fingerprint } = await stack().db('idempotency_keys').where({ key: 'once' }).first<{ fingerprint: Buffer }>();
  const plain = createHash('sha256').update(JSON.stringify([{ id }, body]));
  t.false(fingerprint.equals(plain.digest()), 'the kept hash is of no use for guessing the command');
  const reused = await ada.call('agents.run-command', { id }, { body: { command: ['other'] }, headers });
  isProblem(t, reused, 'idempotency_key_reused');
});

test('a delete ends the commands that wait', async (t) => {
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(stack(), ada);
  const jobs = [(await ask(ada, id)).body.job, (await ask(ada, id)).body.job];
  await ada.call('agents.delete', { id });
  for (const { id: jobId } of jobs) {
    t.like((await ada.call('jobs.get', { id: jobId })).body, { status: 'canceled', error: { code: 'superseded' } });
    t.is((await callOf(jobId))?.sealedRequest, null);
  }
  isProblem(t, await ask(ada, id), 'agent_not_online');
});

test('a stop does not end what waits, and nothing in its way does', async (t) => {
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(stack(), ada);
  const { job } = (await ask(ada, id)).body;
  t.is((await ada.call('agents.stop', { id })).status, 202);
  t.is((await ada.call('jobs.get', { id: job.id })).body.status, 'queued');
  t.is((await ada.agent(id)).status, 'stopping');
});

test('a plan without starting and stopping runs no commands', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'acp-plans-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const plans = JSON.parse(await readFile(stack().env['PLANS_FILE'] ?? '', 'utf8'));
  plans.plans.free.allowStartStop = false;
  const file = join(folder, 'plans.json');
  await writeFile(file, JSON.stringify(plans));
  const poorer = await anotherApi(stack(), { PLANS_FILE: file });
  t.teardown(() => poorer.process.stop());
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(stack(), ada);
  isProblem(t, await ask(poorer.as(ada), id), 'plan_required');
  t.is((await ask(ada, id)).status, 202);
});

test('an operator is not asked to run a command again', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const id = await anAgentAsIfOnline(stack(), ada);
  const { job } = (await ask(ada, id)).body;
  const error = { code: 'vendor_misconfigured', message: 'm', retryable: true, needsOperator: true };
  await stack().db('jobs').where({ id: job.id }).update({ status: 'failed', error, finishedAt: new Date() });
  const retried = await olivia.call('operator.jobs.retry', { id: job.id }, { body: { reason: 'because' } });
  isProblem(t, retried, 'conflict');
  t.is((await olivia.call('operator.jobs.resolve', { id: job.id }, { body: { reason: 'because' } })).status, 200);
});

test.serial('a command that could not begin for five minutes never does', async (t) => {
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(stack(), ada);
  const { db, env, host } = stack();
  const [late, last] = [(await ask(ada, id)).body.job, (await ask(ada, id)).body.job];
  const ago = (jobId: string, interval: string) =>
    db('jobs')
      .where({ id: jobId })
      .update({ createdAt: db.raw('now() - ?::interval', [interval]) });
  await ago(late.id, '5 minutes');
  await ago(last.id, '4 minutes');
  const stop = await startWorkers(env, ['control', 'host']);
  t.teardown(stop);
  const ended = await ada.finished(late);
  t.like(ended, { status: 'failed', startedAt: null, error: { code: 'unavailable', retryable: true } });
  t.is((await ada.finished(last)).error?.code, 'agent_not_online', 'one that is not late was asked for at the host');
  t.is(host.effects().filter(({ action }) => action === 'exec').length, 0);
});
