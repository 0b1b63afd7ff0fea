import test from 'ava';
import { Janitor } from '../../src/jobs/janitor.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { reencrypt } from '../../src/models/reencrypt.js';
import { makeLog } from '../../src/telemetry/log.js';
import type { ACaller, Reply } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

const stack = withStack(test);
const wait = { prefer: 'wait=60' };

const run = (by: ACaller, id: string, command: string[], timeoutSeconds = 20): Promise<Reply> =>
  by.call('agents.run-command', { id }, { body: { command, timeoutSeconds }, headers: wait });
const sh = (by: ACaller, id: string, script: string, timeoutSeconds?: number): Promise<Reply> =>
  run(by, id, ['sh', '-c', script], timeoutSeconds);
const begin = async (by: ACaller, id: string, script: string, timeoutSeconds = 20) => {
  const body = { command: ['sh', '-c', script], timeoutSeconds };
  return (await by.call('agents.run-command', { id }, { body })).body.job as { id: string; workflowId: string };
};
const isRunning = (jobId: string) =>
  until('it runs', async () => (await stack().db('jobs').where({ id: jobId, status: 'running' })).length === 1);

test('commands leave their agent alone, and whatever moves it goes on beside them', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const rowOf = async () => JSON.stringify(await stack().db('agents').where({ id: agent.id }));
  const before = await rowOf();
  const job = await begin(ada, agent.id, 'sleep 15');
  await isRunning(job.id);
  await sh(ada, agent.id, 'exit 1');
  t.is(await rowOf(), before, 'not even when it was changed last');
  t.is((await ada.call('agents.status', { id: agent.id })).body.job, null);
  const since = Date.now();
  const stopped = await ada.call('agents.stop', { id: agent.id }, { headers: wait });
  t.like(stopped.body, { ok: true, agent: { status: 'offline' } });
  const ended = await ada.finished(job);
  t.log(`stopped in ${Date.now() - since} ms beside a command, which ended ${ended.status} ${ended.error?.code ?? ''}`);
  t.is(ended.result?.['exitCode'], 137, 'its machine was stopped under it');
  t.like(await ada.agent(agent.id), { status: 'offline', activeJobId: null, lastError: null });
});

test('a delete does not wait for a command, and takes what it said with it', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const { body } = await sh(ada, id, 'echo something');
  const job = await begin(ada, id, 'sleep 30', 60);
  await isRunning(job.id);
  const deleted = await ada.call('agents.delete', { id }, { headers: wait });
  t.is(deleted.body.job?.status, 'succeeded');
  const ended = await ada.finished(job);
  t.true(ended.status !== 'canceled' && ended.finishedAt !== null, JSON.stringify(ended));
  t.deepEqual((await ada.call('jobs.get', { id: body.job.id })).body.result, {
    exitCode: 0,
    truncated: false,
    expired: true,
  });
  t.deepEqual(await stack().db('machine_calls').where({ agentId: id }), []);
});

test('a command that has begun cannot be canceled', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const job = await begin(ada, agent.id, 'sleep 2; echo done');
  await isRunning(job.id);
  t.false((await ada.call('jobs.get', { id: job.id })).body.cancelable);
  isProblem(t, await ada.call('jobs.cancel', { id: job.id }), 'conflict');
  t.like(await ada.finished(job), { status: 'succeeded', result: { stdout: 'done\n' } });
});

test('who ran a command is in the audit trail; what it was is not', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const { body } = await sh(ada, id, 'echo out-of-it # a-remark');
  const { events } = (await ada.call('audit.list', {}, { query: { action: 'agent.command_run' } })).body;
  t.is(events.length, 1);
  t.like(events[0], { actor: { type: 'user' }, subject: { type: 'agent', id }, after: { jobId: body.job.id } });
  t.notRegex(JSON.stringify(events), /a-remark|out-of-it/);
});

test('what was asked for is wiped as it begins, what was said is gone after a day', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const { body } = await sh(ada, id, 'echo secret-word');
  const jobId: string = body.job.id;
  const { db } = stack();
  const row = () => db('machine_calls').where({ jobId }).first<Record<string, unknown> | undefined>();
  t.is((await row())?.['sealedRequest'], null);
  t.notRegex(JSON.stringify(await row()), /secret-word/);
  const age = (interval: string) =>
    db('machine_calls')
      .where({ jobId })
      .update({ expiresAt: db.raw('expires_at - ?::interval', [interval]) });
  const janitor = new Janitor(db, makeLog('test', 'silent'));
  await age('23 hours 59 minutes');
  await janitor.pass();
  t.is((await ada.call('jobs.get', { id: jobId })).body.result.stdout, 'secret-word\n');
  await age('1 minute');
  const expired = { exitCode: 0, truncated: false, expired: true };
  t.deepEqual((await ada.call('jobs.get', { id: jobId })).body.result, expired, 'before anybody has swept');
  t.truthy(await row());
  await janitor.pass();
  t.is(await row(), undefined);
  t.deepEqual((await ada.call('jobs.get', { id: jobId })).body.result, expired);
});

// First and alone: everything of the stack is sealed with a key that its processes lack.
test.serial('what was said is sealed anew with the rest, and tied to its row', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const { body } = await sh(ada, id, 'echo one');
  const other = await sh(ada, id, 'echo two');
  const { db, env } = stack();
  const sealed = async (jobId: string) =>
    (await db('machine_calls').where({ jobId }).first<{ sealedAnswer: { keyId: string } }>()).sealedAnswer;
  const kept = await sealed(body.job.id);
  const next = `k2:${Buffer.alloc(32, 7).toString('base64')},${env['ENCRYPTION_KEYS']}`;
  t.true((await reencrypt(db, new KeyRing(next))) >= 2);
  t.is((await sealed(body.job.id)).keyId, 'k2');
  const unread = (await ada.call('jobs.get', { id: body.job.id })).body.result;
  t.true(unread.expired, 'a process without the key tells as much as it can');
  // Put back, and moved to another row, it cannot be opened there.
  await db('machine_calls')
    .where({ jobId: other.body.job.id })
    .update({ sealedAnswer: JSON.stringify(kept) });
  t.is((await ada.call('jobs.get', { id: other.body.job.id })).status, 500);
  await db('machine_calls')
    .where({ jobId: body.job.id })
    .update({ sealedAnswer: JSON.stringify(kept) });
  t.is((await ada.call('jobs.get', { id: body.job.id })).body.result.stdout, 'one\n');
});
