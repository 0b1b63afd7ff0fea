import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { aControlPlane, type FakeControlPlane, type Seen } from './a-control-plane.js';
import { aFolder, until } from './a-host.js';
import { aRuntime, isReady, type RuntimeAtHand, stopped } from './a-runtime.js';

const refreshes = ({ seen }: FakeControlPlane): Seen[] =>
  seen.filter(({ path }) => path === '/api/runtime/auth/refresh');
const sent = (controlPlane: FakeControlPlane): unknown[] =>
  refreshes(controlPlane).map(({ body }) => body['refreshToken']);

const storedAccess = async ({ stateDir }: RuntimeAtHand): Promise<string> =>
  JSON.parse(await readFile(join(stateDir, 'runtime.json'), 'utf8')).session.accessToken;

const reasonOf = async (runtime: RuntimeAtHand): Promise<string | undefined> =>
  ((await (await runtime.ready()).json()) as { reason?: string }).reason;

test('it refreshes at four fifths of the life of its access token, stores the pair 0600 and uses it', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.lifeMs = 3_000;
  const runtime = await aRuntime(t, { controlPlane });
  await until(
    () => refreshes(controlPlane).length,
    (count) => count === 1,
  );
  const afterMs = (refreshes(controlPlane)[0]?.at ?? 0) - (controlPlane.seen[0]?.at ?? 0);
  t.log(`refreshed after ${afterMs} ms of a life of ${controlPlane.lifeMs} ms`);
  t.true(afterMs >= 2_100 && afterMs < 3_000);
  t.like(refreshes(controlPlane)[0], { method: 'POST', authorization: undefined });
  controlPlane.lifeMs = 3_600_000;
  await until(
    () => sent(controlPlane).length,
    (count) => count === 2,
  );
  t.deepEqual(sent(controlPlane), ['secret-refresh-1', 'secret-refresh-2']);
  await until(
    () => controlPlane.seen.at(-1)?.authorization,
    (value) => value === 'Bearer secret-access-3',
  );
  t.is(await storedAccess(runtime), 'secret-access-3');
  t.is((await stat(join(runtime.stateDir, 'runtime.json'))).mode & 0o777, 0o600);
  t.deepEqual(await readdir(runtime.stateDir), ['runtime.json', 'runtime.log'], 'no temporary file is left');
  t.true(isReady(await runtime.ready()));
  t.false(runtime.output().includes('secret'));
});

test('a lost reply is asked for again with the same refresh token; errors that pass end nothing', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.lifeMs = 500;
  controlPlane.refreshes.push('lost', 'reset', { status: 503 }, { status: 200, body: { tokenType: 'Bearer' } });
  const runtime = await aRuntime(t, { controlPlane });
  await until(runtime.ready, isReady);
  controlPlane.lifeMs = 3_600_000;
  let unready = 0;
  await until(
    async () => {
      if (!isReady(await runtime.ready())) unready += 1;
      return controlPlane.seen.at(-1)?.authorization;
    },
    (value) => value === 'Bearer secret-access-2',
  );
  t.deepEqual(
    sent(controlPlane),
    Array.from({ length: 5 }, () => 'secret-refresh-1'),
  );
  t.is(unready, 0, 'an outage makes nothing unready that was ready');
  t.is(await storedAccess(runtime), 'secret-access-2');
});

test('Retry-After is heeded', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.lifeMs = 500;
  controlPlane.refreshes.push({ status: 429, headers: { 'retry-after': '2' } });
  const runtime = await aRuntime(t, { controlPlane });
  await until(runtime.ready, isReady);
  await until(
    () => refreshes(controlPlane).length,
    (count) => count === 1,
  );
  const since = Date.now();
  await until(
    () => refreshes(controlPlane).length,
    (count) => count === 2,
  );
  t.true(Date.now() - since >= 1_900);
});

test('a pair that cannot be stored is not used: it is asked for again until it can be', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.lifeMs = 1_500;
  const runtime = await aRuntime(t, { controlPlane });
  await until(runtime.ready, isReady);
  controlPlane.lifeMs = 3_600_000;
  const folder = join(runtime.stateDir, `runtime.json.${runtime.child.pid}.tmp`);
  await mkdir(folder); // where the file would be written
  await until(
    () => refreshes(controlPlane).length,
    (count) => count >= 2,
  );
  t.is(await storedAccess(runtime), 'secret-access-1');
  t.false(controlPlane.seen.some(({ authorization }) => authorization === 'Bearer secret-access-2'));
  t.true(isReady(await runtime.ready()));
  await rm(folder, { recursive: true });
  await until(
    () => controlPlane.seen.at(-1)?.authorization,
    (value) => value === 'Bearer secret-access-2',
  );
  t.true(sent(controlPlane).every((token) => token === 'secret-refresh-1'));
});

for (const [code, reason] of [
  ['token_reused', 'token_reused'],
  ['token_expired', 'token_expired'],
  ['unauthenticated', 'session_refused'],
] as const) {
  test(`a refresh refused as ${code} drops the session; the runtime says so and waits for its next start`, async (t) => {
    const controlPlane = await aControlPlane(t);
    controlPlane.lifeMs = 500;
    controlPlane.refreshes.push({ status: 401, body: { code, detail: 'secret-detail' } });
    const runtime = await aRuntime(t, { controlPlane });
    await until(
      () => reasonOf(runtime),
      (value) => value === reason,
    );
    t.is((await runtime.ready()).status, 503);
    t.deepEqual(await readdir(runtime.stateDir), ['runtime.log'], 'the dead tokens are gone');
    const asked = controlPlane.seen.length;
    await sleep(800);
    t.is(controlPlane.seen.length, asked, 'nobody is asked any more');
    t.is((await fetch(`${runtime.url}/healthz`)).status, 200);
    t.false(runtime.output().includes('secret'));

    await stopped(runtime);
    controlPlane.lifeMs = 3_600_000;
    const { stateDir } = runtime;
    const next = await aRuntime(t, { controlPlane, stateDir, bootstrapToken: 'secret-boot-2' });
    await until(next.ready, isReady);
    t.is(controlPlane.seen.filter(({ path }) => path.endsWith('/exchange')).length, 2);
  });
}

test('a refusal that says nothing of the token, such as 404, ends nothing', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.lifeMs = 500;
  controlPlane.refreshes.push({ status: 404 });
  const runtime = await aRuntime(t, { controlPlane });
  await until(
    () => refreshes(controlPlane).length,
    (count) => count === 1,
  );
  await sleep(300);
  t.true(isReady(await runtime.ready()));
  t.is(await storedAccess(runtime), 'secret-access-1');
});

test('a machine that died before it saved the pair gets it again with the token it has', async (t) => {
  const controlPlane = await aControlPlane(t);
  const first = await aRuntime(t, { controlPlane });
  await until(first.ready, isReady);
  await stopped(first);
  const file = join(first.stateDir, 'runtime.json');
  const stored = JSON.parse(await readFile(file, 'utf8'));
  const accessTokenExpiresAt = new Date(Date.now() - 1).toISOString();
  await writeFile(file, JSON.stringify({ ...stored, session: { ...stored.session, accessTokenExpiresAt } }));
  const lost = { refreshToken: 'secret-refresh-1' };
  await fetch(`${controlPlane.url}/api/runtime/auth/refresh`, { method: 'POST', body: JSON.stringify(lost) });

  const second = await aRuntime(t, { controlPlane, stateDir: first.stateDir });
  await until(second.ready, isReady);
  t.is(await storedAccess(second), 'secret-access-2');
  t.deepEqual(sent(controlPlane), ['secret-refresh-1', 'secret-refresh-1']);
  t.is(controlPlane.seen.filter(({ path }) => path.endsWith('/exchange')).length, 1);
});

test('an access token that is no longer known is refreshed before anything is given up', async (t) => {
  const controlPlane = await aControlPlane(t);
  const first = await aRuntime(t, { controlPlane });
  await until(first.ready, isReady);
  await stopped(first);
  controlPlane.statuses.push({ status: 401 });
  const second = await aRuntime(t, { controlPlane, stateDir: first.stateDir });
  await until(
    () => refreshes(controlPlane).length,
    (count) => count === 1,
  );
  await until(second.ready, isReady);
  t.is(controlPlane.seen.filter(({ path }) => path.endsWith('/exchange')).length, 1);
});

test('while the control plane is away at boot, an expired access token leaves it not ready and says why', async (t) => {
  const controlPlane = await aControlPlane(t);
  const stateDir = await aFolder(t);
  const first = await aRuntime(t, { controlPlane, stateDir });
  await until(first.ready, isReady);
  await stopped(first);
  const file = join(stateDir, 'runtime.json');
  const stored = JSON.parse(await readFile(file, 'utf8'));
  const accessTokenExpiresAt = new Date(Date.now() - 1).toISOString();
  await writeFile(file, JSON.stringify({ ...stored, session: { ...stored.session, accessTokenExpiresAt } }));
  controlPlane.refreshes.push({ status: 503, headers: { 'retry-after': '1' } });
  const second = await aRuntime(t, { controlPlane, stateDir });
  await until(
    () => reasonOf(second),
    (reason) => reason === 'control_plane_unreachable',
  );
  await until(second.ready, isReady);
  t.is(await storedAccess(second), 'secret-access-2');
});
