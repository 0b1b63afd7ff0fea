import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { LogLine } from '../../src/contract/shapes/machine-call.js';
import { Janitor } from '../../src/jobs/janitor.js';
import { makeLog } from '../../src/telemetry/log.js';
import type { ACaller } from '../support/a-caller.js';
import { aNamedToken } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf } from '../support/host-side.js';

const stack = withStack(test);
const logs = (by: ACaller, id: string, tail?: number, headers: Record<string, string> = {}) =>
  by.call('agents.logs', { id }, { ...(tail === undefined ? {} : { query: { tail } }), headers });
const textsOf = (lines: LogLine[]): string[] => lines.map(({ text }) => text);
const writeLog = async (agent: Agent, text: string, name = 'runtime.log'): Promise<void> => {
  const folder = join(stack().hostFolder, 'volumes', agent.hostVolumeId ?? '', 'acp');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), text);
};
const execPath = (id: string): string => `//apps/${appNameOf(id)}/machines/.*exec$/`;

test('the log of the runtime is here at once, oldest line first, each with its time', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const { status, body } = await logs(ada, agent.id);
  t.is(status, 200);
  t.deepEqual(Object.keys(body).toSorted(), ['lines', 'ok', 'truncated']);
  t.like(body, { ok: true, truncated: false });
  t.true(
    textsOf(body.lines).some((text) => text.startsWith(`listening agentId=${agent.id}`)),
    JSON.stringify(body),
  );
  t.true(textsOf(body.lines).some((text) => text.startsWith('session received')));
  const times: string[] = body.lines.map(({ at }: LogLine) => at);
  t.deepEqual(times, times.toSorted());
  t.true(Math.abs(Date.parse(times[0] ?? '') - Date.now()) < 60_000);
  const last = await logs(ada, agent.id, 1);
  t.deepEqual(last.body.lines, body.lines.slice(-1));
});

test('a log survives a restart of the machine', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const wait = { headers: { prefer: 'wait=60' } };
  await ada.call('agents.stop', { id }, wait);
  isProblem(t, await logs(ada, id), 'agent_not_online', 'there is nothing that could read it');
  await ada.call('agents.start', { id }, wait);
  const texts = textsOf((await logs(ada, id)).body.lines);
  t.is(texts.filter((text) => text.startsWith('listening')).length, 2);
  t.true(texts.includes('stopping why=SIGTERM'));
});

test('lines without a time go on from the one before, and tokens are cut out', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const token = `acp_gw_${'x'.repeat(49)}`;
  await writeLog(agent, '2026-01-01T00:00:00.000Z older\n', 'runtime.log.1');
  await writeLog(
    agent,
    `2026-01-01T00:00:01Z it broke with ${token}\n  at somewhere\n\n2026-99-99T00:00:00Z no time\n`,
  );
  const { lines } = (await logs(ada, agent.id, 500)).body;
  const at = '2026-01-01T00:00:01.000Z';
  t.deepEqual(lines, [
    { at: '2026-01-01T00:00:00.000Z', text: 'older' },
    { at, text: 'it broke with acp_…' },
    { at, text: '  at somewhere' },
    { at, text: '' },
    { at, text: '2026-99-99T00:00:00Z no time' },
  ]);
});

test('a log that is too large is cut to its newest 256 KiB, and says so', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const line = (n: number) => `2026-01-01T00:00:00.000Z ${n} ${'€'.repeat(1_000)}\n`;
  await writeLog(agent, Array.from({ length: 400 }, (_, n) => line(n)).join(''));
  const { body } = await logs(ada, agent.id, 500);
  const bytes = Buffer.byteLength(textsOf(body.lines).join(''));
  t.true(body.ok && body.truncated && bytes <= 256 * 1024 && bytes > 240 * 1024, `${bytes} bytes`);
  t.true(
    textsOf(body.lines).every((text) => /^\d+ €{1000}$/.test(text)),
    'whole lines',
  );
  t.is(textsOf(body.lines).at(-1)?.split(' ')[0], '399');
  const few = (await logs(ada, agent.id, 5)).body;
  t.is(few.lines.length, 5);
  t.false(few.truncated, 'nothing that was asked for is missing');
  await writeLog(agent, '');
  t.deepEqual((await logs(ada, agent.id)).body, { ok: true, lines: [], truncated: false });
});

test('who may read a log, and what may be asked', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const { id } = await ada.anAgent();
  isProblem(t, await logs(ada, id), 'agent_not_provisioned');
  isProblem(t, await logs(eve, id), 'not_found');
  const reader = (await aNamedToken(stack(), ada, ['read'])).caller;
  isProblem(t, await logs(reader, id), 'scope_required');
  for (const tail of [0, 501, -1, 1.5]) isProblem(t, await logs(ada, id, tail), 'invalid_request', String(tail));
});

test('a host that takes its time: 202 with the job, which has the lines later, for ten minutes', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  stack().host.fault({ match: { path: execPath(agent.id) }, mode: 'delay', delayMs: 3_000, times: 1 });
  const [first, second] = await Promise.all([
    logs(ada, agent.id, 2, { prefer: 'wait=1' }),
    logs(ada, agent.id, 2, { prefer: 'wait=1' }),
  ]);
  t.is(first.status, 202);
  t.deepEqual(Object.keys(first.body).toSorted(), ['job', 'ok']);
  t.is(first.headers.get('location'), `/api/jobs/${first.body.job.id}`);
  t.is(second.body.job.id, first.body.job.id, 'asked again meanwhile it is the same job');
  const job = await ada.finished(first.body.job);
  t.like(job, { kind: 'agent.logs', status: 'succeeded' });
  t.is((job.result as { lines: LogLine[] }).lines.length, 2);
  const { jobs } = (await ada.call('jobs.list', {}, { query: { kind: 'agent.logs' } })).body;
  t.deepEqual(jobs[0].result, { truncated: false });

  const { db } = stack();
  await db('machine_calls')
    .where({ jobId: job.id })
    .update({ expiresAt: db.raw(`expires_at - interval '10 minutes'`) });
  t.deepEqual((await ada.call('jobs.get', { id: job.id })).body.result, { truncated: false, expired: true });
  const janitor = new Janitor(db, makeLog('test', 'silent'));
  await janitor.pass();
  t.is((await ada.call('jobs.get', { id: job.id })).status, 200);
  await db('jobs')
    .where({ id: job.id })
    .update({ finishedAt: db.raw(`now() - interval '24 hours'`) });
  await janitor.pass();
  isProblem(t, await ada.call('jobs.get', { id: job.id }), 'not_found', 'the job itself goes after a day');
});

test('a host that stumbles is asked again; one that says no machine runs is believed', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  for (const mode of ['error-before', 'reset-after', 'malformed'] as const) {
    stack().host.fault({ match: { path: execPath(agent.id) }, mode, times: 1 });
    t.like((await logs(ada, agent.id)).body, { ok: true }, mode);
  }
  await stack().host.killMachine(agent.id);
  const { status, body } = await logs(ada, agent.id);
  t.is(status, 200);
  t.like(body, {
    ok: false,
    lines: [],
    truncated: false,
    job: { status: 'failed', error: { code: 'agent_not_online' } },
  });
});
