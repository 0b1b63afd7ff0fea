import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { aControlPlane, type FakeControlPlane } from './a-control-plane.js';
import { aFolder, until } from './a-host.js';
import { aRuntime, isReady, stopped } from './a-runtime.js';

const paths = ({ seen }: FakeControlPlane): string[] => seen.map(({ path }) => path.slice('/api/runtime/'.length));

test('it exchanges its bootstrap token, proves the session once, keeps it 0600 and is ready', async (t) => {
  const controlPlane = await aControlPlane(t);
  const runtime = await aRuntime(t, { controlPlane });
  const ready = await until(runtime.ready, isReady);
  t.deepEqual(await ready.json(), { ready: true, runtimeVersion: '1.2.3' });
  await until(
    () => controlPlane.seen.length,
    (count) => count === 2,
  );
  t.like(controlPlane.seen[0], {
    method: 'POST',
    path: '/api/runtime/bootstrap/exchange',
    authorization: undefined,
    body: { runtimeId: 'rt_one', bootstrapToken: 'secret-boot-1', runtimeVersion: '1.2.3' },
  });
  t.like(controlPlane.seen[1], {
    method: 'GET',
    path: '/api/runtime/auth/status',
    authorization: 'Bearer secret-access-1',
  });

  const file = join(runtime.stateDir, 'runtime.json');
  t.is((await stat(file)).mode & 0o777, 0o600);
  const stored = await readFile(file, 'utf8');
  t.is(JSON.parse(stored).session.accessToken, 'secret-access-1');
  t.false(stored.includes('secret-boot-1'));
  t.deepEqual(await readdir(runtime.stateDir), ['runtime.json', 'runtime.log'], 'no temporary file is left');
  t.false(runtime.output().includes('secret'));
  t.true(
    runtime
      .output()
      .trim()
      .split('\n')
      .every((line) => typeof JSON.parse(line).msg === 'string'),
  );
});

test('it keeps its log in two bounded files, without a secret in them', async (t) => {
  const controlPlane = await aControlPlane(t);
  const stateDir = await aFolder(t);
  const [log, older] = [join(stateDir, 'runtime.log'), join(stateDir, 'runtime.log.1')];
  await writeFile(log, `${'x'.repeat(299 * 1024)}\n`);
  await writeFile(older, 'from long ago\n');
  const runtime = await aRuntime(t, { controlPlane, stateDir });
  await until(runtime.ready, isReady);
  await stopped(runtime);
  t.is((await stat(older)).size, 299 * 1024 + 1, 'what was full has become the older one');
  t.is((await stat(log)).mode & 0o777, 0o600);
  const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
  t.true(
    lines.every((line) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S/.test(line)),
    lines.join('\n'),
  );
  t.regex(lines[0] ?? '', / listening agentId=agt_one runtimeVersion=1\.2\.3$/);
  t.regex(lines.at(-1) ?? '', / stopping why=SIGTERM$/);
  t.notRegex(lines.join(), /secret/);
});

test('it asks again while the control plane is down, answers 5xx or 429, or talks nonsense', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.exchanges.push(
    'reset',
    { status: 503 },
    { status: 429, headers: { 'retry-after': '1' } },
    { status: 200, body: { tokenType: 'Bearer' } },
  );
  controlPlane.statuses.push({ status: 502 });
  const since = Date.now();
  const runtime = await aRuntime(t, { controlPlane });
  await until(
    async () => ((await (await runtime.ready()).json()) as { reason?: string }).reason,
    (reason) => reason === 'control_plane_unreachable',
  );
  await until(runtime.ready, isReady);
  t.true(Date.now() - since >= 1_000, 'Retry-After is heeded');
  await until(
    () => paths(controlPlane).filter((path) => path === 'auth/status').length,
    (count) => count === 2,
  );
  t.is(paths(controlPlane).filter((path) => path === 'bootstrap/exchange').length, 5);
});

test('after a restart it goes on with the stored session, without another exchange', async (t) => {
  const controlPlane = await aControlPlane(t);
  const first = await aRuntime(t, { controlPlane });
  await until(first.ready, isReady);
  await stopped(first);
  controlPlane.seen.length = 0;
  const second = await aRuntime(t, { controlPlane, stateDir: first.stateDir });
  await until(second.ready, isReady);
  await until(
    () => controlPlane.seen.length,
    (count) => count === 1,
  );
  t.like(controlPlane.seen[0], {
    path: '/api/runtime/auth/status',
    authorization: 'Bearer secret-access-1',
  });
});

test('a new bootstrap token is exchanged even though the stored session would do', async (t) => {
  const controlPlane = await aControlPlane(t);
  const first = await aRuntime(t, { controlPlane });
  await until(first.ready, isReady);
  await stopped(first);
  const second = await aRuntime(t, {
    controlPlane,
    stateDir: first.stateDir,
    bootstrapToken: 'secret-boot-2',
  });
  await until(second.ready, isReady);
  t.is(JSON.parse(await readFile(join(first.stateDir, 'runtime.json'), 'utf8')).session.accessToken, 'secret-access-2');
});

test('a refused bootstrap token: a stored session that is still valid carries on', async (t) => {
  const controlPlane = await aControlPlane(t);
  const first = await aRuntime(t, { controlPlane });
  await until(first.ready, isReady);
  await stopped(first);
  controlPlane.exchanges.push({ status: 401 });
  const second = await aRuntime(t, {
    controlPlane,
    stateDir: first.stateDir,
    bootstrapToken: 'secret-boot-2',
  });
  await until(second.ready, isReady);
  t.is(controlPlane.seen.at(-1)?.authorization ?? 'Bearer secret-access-1', 'Bearer secret-access-1');
});

test('a refused bootstrap token without a session: alive, not ready, one line, and no hammering', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.exchanges.push({ status: 401 }, { status: 401 });
  const runtime = await aRuntime(t, { controlPlane });
  await until(
    () => controlPlane.seen.length,
    (count) => count === 1,
  );
  await sleep(500);
  const answer = await runtime.ready();
  t.is(answer.status, 503);
  t.deepEqual(await answer.json(), { ready: false, reason: 'bootstrap_refused' });
  t.is((await fetch(`${runtime.url}/healthz`)).status, 200);
  t.is(controlPlane.seen.length, 1);
  t.is(runtime.output().split('bootstrap token refused').length - 1, 1);
});

test('a session of another runtime, an expired or a torn one is not used', async (t) => {
  for (const spoil of [
    (session: Record<string, string>) => ({ ...session, runtimeId: 'rt_other' }),
    (session: Record<string, string>) => ({
      ...session,
      accessTokenExpiresAt: new Date(Date.now() - 1).toISOString(),
      refreshTokenExpiresAt: new Date(Date.now() - 1).toISOString(),
    }),
    () => 'torn',
  ]) {
    const controlPlane = await aControlPlane(t);
    const first = await aRuntime(t, { controlPlane });
    await until(first.ready, isReady);
    await stopped(first);
    const file = join(first.stateDir, 'runtime.json');
    const stored = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...stored, session: spoil(stored.session) }));
    const second = await aRuntime(t, { controlPlane, stateDir: first.stateDir });
    await until(second.ready, isReady);
    t.is(JSON.parse(await readFile(file, 'utf8')).session.accessToken, 'secret-access-2');
    t.false(paths(controlPlane).includes('auth/refresh'));
  }
});

test('a stored session that the control plane no longer knows is dropped for a new exchange', async (t) => {
  const controlPlane = await aControlPlane(t);
  const first = await aRuntime(t, { controlPlane });
  await until(first.ready, isReady);
  await stopped(first);
  controlPlane.statuses.push({ status: 401 });
  controlPlane.refreshes.push({ status: 401 });
  const second = await aRuntime(t, { controlPlane, stateDir: first.stateDir });
  await until(
    () => controlPlane.seen.at(-1)?.authorization,
    (value) => value === 'Bearer secret-access-2',
  );
  t.true(isReady(await second.ready()));
});

test('a state folder it cannot write to leaves it alive and not ready', async (t) => {
  const controlPlane = await aControlPlane(t);
  const stateDir = join(await aFolder(t), 'file');
  await writeFile(stateDir, 'not a folder');
  const runtime = await aRuntime(t, { controlPlane, stateDir });
  const answer = await until(
    async () => (await (await runtime.ready()).json()) as { reason: string },
    ({ reason }) => reason !== 'signing_on',
  );
  t.deepEqual(answer, { ready: false, reason: 'sign_on_failed' } as never);
  t.is((await fetch(`${runtime.url}/healthz`)).status, 200);
});
