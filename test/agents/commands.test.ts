import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import { Janitor } from '../../src/jobs/janitor.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { reencrypt } from '../../src/models/reencrypt.js';
import { makeLog } from '../../src/telemetry/log.js';
import type { ACaller, Reply } from '../support/a-caller.js';
import { aNamedToken } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { anEventStream } from '../support/an-event-stream.js';
import { until } from '../support/until.js';

const stack = withStack(test);
const wait = { prefer: 'wait=60' };
const MAX = 256 * 1024;

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
const execs = ({ hostMachineId }: Agent): number =>
  stack()
    .host.effects()
    .filter(({ action, id }) => action === 'exec' && id === hostMachineId).length;
const onVolume = (agent: Agent, file: string): Promise<string> =>
  readFile(join(stack().hostFolder, 'volumes', agent.hostVolumeId ?? '', 'acp', file), 'utf8').catch(() => '');

test('a command runs on the machine: 202 with the job at once, 200 with its result after a wait', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const body = { command: ['sh', '-c', 'echo "$1"; echo "$ACP_AGENT_ID" >&2; exit 3', 'sh', '$(a) "b" *'] };
  const first = await ada.call('agents.run-command', { id }, { body });
  t.is(first.status, 202);
  t.is(first.headers.get('location'), `/api/jobs/${first.body.job.id}`);
  t.like(first.body, { ok: true, job: { kind: 'agent.command', status: 'queued', agentId: id, cancelable: true } });
  const job = await ada.finished(first.body.job);
  t.like(job, { status: 'succeeded', error: null, cancelable: false });
  t.deepEqual(job.result, { exitCode: 3, stdout: '$(a) "b" *\n', stderr: `${id}\n`, truncated: false });
  t.deepEqual(
    job.steps.map(({ name, status, attempts }) => ({ name, status, attempts })),
    [{ name: 'run the command', status: 'done', attempts: 1 }],
  );
  const waited = await ada.call('agents.run-command', { id }, { body, headers: wait });
  t.is(waited.status, 200);
  t.is(waited.headers.get('preference-applied'), 'wait=60');
  t.deepEqual(waited.body.job.result, job.result);
});

test('how a command ended is its result: not found is 127, a signal 128 and its number', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  t.like((await run(ada, id, ['no-such-program-here'])).body, { ok: true, job: { result: { exitCode: 127 } } });
  t.like((await sh(ada, id, 'kill -9 $$')).body, { ok: true, job: { result: { exitCode: 137, stdout: '' } } });
});

test('only its owner sees what a command said: no list, event, read-only session or other user does', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const agent = await ada.anOnlineAgent();
  const { body } = await sh(ada, agent.id, 'echo out-of-it; echo err-of-it >&2');
  const { id } = body.job;
  t.deepEqual(body.job.result, { exitCode: 0, stdout: 'out-of-it\n', stderr: 'err-of-it\n', truncated: false });
  const brief = { exitCode: 0, truncated: false };
  const [listed] = (await ada.call('jobs.list', {}, { query: { kind: 'agent.command' } })).body.jobs;
  t.deepEqual(listed.result, brief);
  const stream = await anEventStream(ada, id);
  await stream.ended;
  t.deepEqual(stream.events.at(-1)?.job.result, brief);
  const reader = (await aNamedToken(stack(), ada, ['read'])).caller;
  t.deepEqual((await reader.call('jobs.get', { id })).body.result, brief);
  isProblem(
    t,
    await reader.call('agents.run-command', { id: agent.id }, { body: { command: ['true'] } }),
    'scope_required',
  );
  const worker = (await aNamedToken(stack(), ada, ['agents'])).caller;
  t.is((await worker.call('jobs.get', { id })).body.result.stdout, 'out-of-it\n');
  isProblem(t, await eve.call('jobs.get', { id }), 'not_found');
  isProblem(t, await run(eve, agent.id, ['true']), 'not_found');
  t.is(execs(agent), 1);
});

test('output is cut at 256 KiB in all, between characters, and says so', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const script = `i=0; while [ $i -lt 3000 ]; do printf '%0100d' 0; printf '€%.0s' 1 2 3 4 5 6 7; i=$((i+1)); done`;
  const { result } = (await sh(ada, id, script)).body.job;
  t.like(result, { exitCode: 0, stderr: '', truncated: true });
  const bytes = Buffer.byteLength(result.stdout);
  t.true(bytes <= MAX && bytes > MAX - 4, `${bytes} bytes`);
  t.false(result.stdout.includes('\uFFFD'));
  const both = (await sh(ada, id, `${script}; (${script}) >&2`)).body.job.result;
  const sum = Buffer.byteLength(both.stdout) + Buffer.byteLength(both.stderr);
  t.true(both.truncated && sum <= MAX && sum > MAX - 8 && both.stderr.length > 50_000, `${sum} bytes`);
  t.log(`300 KB and more written: ${bytes} of stdout alone, ${sum} of both`);
});

test('a command that writes more than the host can hand over has run, and says that nothing else is known', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  // A NUL is six characters in JSON.
  const { body } = await sh(ada, agent.id, 'head -c 1000000 /dev/zero; echo ran >> "$ACP_STATE_DIR/ran"');
  t.like(body, { ok: false, job: { status: 'failed', result: null } });
  t.like(body.job.error, { code: 'payload_too_large', retryable: false, needsOperator: false });
  t.is(await onVolume(agent, 'ran'), 'ran\n');
});

test('a command that outlives its time is ended, and fails', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const { body } = await sh(
    ada,
    agent.id,
    'echo begun > "$ACP_STATE_DIR/ran"; sleep 2; echo ended >> "$ACP_STATE_DIR/ran"',
    1,
  );
  t.like(body, {
    ok: false,
    job: { status: 'failed', result: null, error: { code: 'deadline_exceeded', retryable: false } },
  });
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // past the time at which it would have written again
  t.is(await onVolume(agent, 'ran'), 'begun\n');
  t.is(execs(agent), 1);
});

test('what is not a command is refused', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const bad = [
    {},
    { command: 'true' },
    { command: [] },
    { command: [''] },
    { command: ['true', 7] },
    { command: ['a\u0000b'] },
    { command: Array.from({ length: 65 }, () => 'x') },
    { command: ['x'.repeat(8 * 1024 + 1)] },
    { command: ['€'.repeat(2731)] },
    { command: Array.from({ length: 5 }, () => 'x'.repeat(8 * 1024)) },
    ...[0, 61, 1.5, '5', null].map((timeoutSeconds) => ({ command: ['true'], timeoutSeconds })),
    { command: ['true'], stdin: 'x' },
  ];
  for (const body of bad)
    isProblem(
      t,
      await ada.call('agents.run-command', { id }, { body }),
      'invalid_request',
      JSON.stringify(body).slice(0, 80),
    );
  const most = { command: ['true', '', ...Array.from({ length: 3 }, () => 'x'.repeat(8 * 1024))], timeoutSeconds: 60 };
  isProblem(t, await ada.call('agents.run-command', { id }, { body: most }), 'agent_not_provisioned');
});

test('an agent that is not online runs nothing', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id: agent.id }, { headers: wait });
  isProblem(t, await run(ada, agent.id, ['true']), 'agent_not_online');
  await stack().db('agents').update({ status: 'error' }).where({ id: agent.id });
  isProblem(t, await run(ada, agent.id, ['true']), 'agent_not_online');
  t.is(execs(agent), 0);
  t.is((await ada.call('jobs.list', {}, { query: { kind: 'agent.command' } })).body.jobs.length, 0);
});

test('a machine that was stopped behind our back: the command has not run, and says so', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await stack().host.killMachine(agent.id);
  const { body } = await run(ada, agent.id, ['true']);
  t.like(body, { ok: false, job: { status: 'failed', error: { code: 'agent_not_online', retryable: true } } });
  t.is(execs(agent), 0);
});

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
