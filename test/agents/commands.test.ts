import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { ACaller, Reply } from '../support/a-caller.js';
import { aNamedToken } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { anEventStream } from '../support/an-event-stream.js';

const stack = withStack(test);
const wait = { prefer: 'wait=60' };
const MAX = 256 * 1024;

const run = (by: ACaller, id: string, command: string[], timeoutSeconds = 20): Promise<Reply> =>
  by.call('agents.run-command', { id }, { body: { command, timeoutSeconds }, headers: wait });
const sh = (by: ACaller, id: string, script: string, timeoutSeconds?: number): Promise<Reply> =>
  run(by, id, ['sh', '-c', script], timeoutSeconds);
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
