import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { aConfig, aFolder, aHost, aMachine, isAlive, until, type HostAtHand } from './a-host.js';

const pidOf = async ({ api }: HostAtHand, id: string): Promise<number | null> => {
  const { body } = await api('GET', '/_/machines');
  return body.machines.find((machine: { id: string }) => machine.id === id)?.pid ?? null;
};

test('stop ends the process, start boots another; both are without effect when already so', async (t) => {
  const at = await aHost(t);
  const { path, id, version } = await aMachine(at);
  const first = await pidOf(at, id);
  t.true(first !== null && isAlive(first));
  t.deepEqual((await at.api('POST', `${path}/stop`, { signal: 'SIGTERM', timeout: '5s' })).body, {
    ok: true,
  });
  t.deepEqual((await at.api('GET', `${path}/wait?state=stopped&timeout=10&version=${version}`)).body, {
    ok: true,
    state: 'stopped',
    version,
  });
  t.false(isAlive(first ?? 0));
  t.is(await pidOf(at, id), null);
  await at.api('POST', `${path}/stop`);
  const started = await at.api('POST', `${path}/start`);
  t.deepEqual(started.body, { previous_state: 'stopped', migrated: false, new_host: null });
  t.is((await at.api('GET', `${path}/wait?timeout=10`)).status, 200);
  t.is((await at.api('POST', `${path}/start`)).body.previous_state, 'started');
  t.deepEqual(
    at.host
      .effects()
      .slice(4)
      .map(({ action }) => action),
    ['machine.stop', 'machine.start'],
  );
  const { body } = await at.api('GET', path);
  t.true(
    body.events.some(
      (event: { type: string; request?: { exit_event: { requested_stop: boolean } } }) =>
        event.type === 'exit' && event.request?.exit_event.requested_stop,
    ),
  );
});

test('a machine that does not heed its signal is ended when its time is over', async (t) => {
  const runtimeEntry = join(await aFolder(t), 'stubborn.mjs');
  await writeFile(
    runtimeEntry,
    "process.on('SIGTERM', () => {}); process.stdin.resume(); setInterval(() => {}, 1000);",
  );
  const at = await aHost(t, { runtimeEntry, pace: { bootMs: 300 } });
  const { path, version } = await aMachine(at);
  const since = Date.now();
  await at.api('POST', `${path}/stop`, { signal: 'SIGTERM', timeout: '1s' });
  t.is((await at.api('GET', path)).body.state, 'stopping');
  t.is((await at.api('POST', `${path}/start`)).status, 412);
  t.is((await at.api('GET', `${path}/wait?state=stopped&timeout=10&version=${version}`)).status, 200);
  t.true(Date.now() - since >= 1_000);
});

test('waiting: stopped needs the version, a miss is 408, an unknown version 404, a bad time-out 400', async (t) => {
  const at = await aHost(t);
  const { path, version } = await aMachine(at);
  t.is((await at.api('GET', `${path}/wait?state=stopped`)).status, 400);
  t.is((await at.api('GET', `${path}/wait?state=asleep`)).status, 400);
  t.is((await at.api('GET', `${path}/wait?timeout=61`)).status, 400);
  t.is((await at.api('GET', `${path}/wait?state=stopped&version=${version}&timeout=1`)).status, 408);
  t.is((await at.api('GET', `${path}/wait?state=started&version=other`)).status, 404);
});

test('an update swaps the machine: 412 while replacing, 409 with a stale version, stopped stays stopped', async (t) => {
  const at = await aHost(t, { pace: { swapMs: 1_000 } });
  const { path, version, volumeId } = await aMachine(at);
  const config = aConfig(at.controlPlane, {
    mounts: [{ volume: volumeId, path: '/data' }],
    metadata: { agentId: 'agt_two' },
  });
  const updated = await at.api('POST', path, { config, current_version: version });
  t.is(updated.body.state, 'replacing');
  t.not(updated.body.version, version);
  t.is((await at.api('POST', `${path}/start`)).status, 412);
  t.is((await at.api('POST', `${path}/stop`)).status, 412);
  t.is((await at.api('POST', path, { config, current_version: version })).status, 409);
  t.is((await at.api('GET', `${path}/wait?timeout=10&version=${updated.body.version}`)).status, 200);
  t.is(at.host.machinesOf('agt_two', { state: 'started' }).length, 1);

  await at.api('POST', `${path}/stop`);
  await at.api('GET', `${path}/wait?state=stopped&timeout=10&version=${updated.body.version}`);
  const again = await at.api('POST', path, { config });
  await at.api('GET', `${path}/wait?state=settled&timeout=10&version=${again.body.version}`);
  t.is((await at.api('GET', path)).body.state, 'stopped');
  t.is((await at.api('POST', path, { config: aConfig(at.controlPlane) })).status, 400, 'a mount cannot be changed');
});

test('stopping a machine that is still booting ends stopped, with no process', async (t) => {
  const at = await aHost(t, { pace: { bootMs: 5_000 } });
  const { path, id, version } = await aMachine(at, 'app-one', { request: { skip_launch: true } });
  t.is((await at.api('GET', path)).body.state, 'created');
  await at.api('POST', `${path}/start`);
  t.is((await at.api('POST', `${path}/stop`)).status, 200);
  t.is((await at.api('GET', `${path}/wait?state=stopped&timeout=10&version=${version}`)).status, 200);
  t.is(await pidOf(at, id), null);
  const [machine] = at.host.machinesOf('agt_one');
  t.deepEqual(
    machine?.events.map(({ status }) => status),
    ['stopped', 'stopping', 'starting', 'created'],
    'it never showed as started',
  );
});

test('an update leaves a machine that never ran, or was not to run on, stopped', async (t) => {
  const at = await aHost(t);
  const { path, volumeId } = await aMachine(at, 'app-one', { request: { skip_launch: true } });
  const mounts = [{ volume: volumeId, path: '/data' }];
  const config = aConfig(at.controlPlane, { mounts });
  for (const request of [{ config }, { config, skip_launch: true }]) {
    const { body } = await at.api('POST', path, request);
    await at.api('GET', `${path}/wait?state=settled&timeout=10&version=${body.version}`);
    t.is((await at.api('GET', path)).body.state, 'stopped');
    await at.api('POST', `${path}/start`);
    await at.api('GET', `${path}/wait?timeout=10`);
  }
});

test('a machine must stand still or be forced to be destroyed; it shows as destroyed, then is a 404', async (t) => {
  const at = await aHost(t, { pace: { destroyedShowsMs: 1_500 } });
  const { path, id } = await aMachine(at);
  const pid = await pidOf(at, id);
  t.is((await at.api('DELETE', path)).status, 412);
  t.deepEqual((await at.api('DELETE', `${path}?force=true`)).body, { ok: true });
  t.false(isAlive(pid ?? 0));
  t.is((await at.api('GET', path)).body.state, 'destroyed');
  t.is((await at.api('POST', `${path}/start`)).status, 404);
  await until(
    () => at.api('GET', path),
    ({ status }) => status === 404,
  );
  t.deepEqual((await at.api('GET', '/v1/apps/app-one/machines')).body, []);
  t.is((await at.api('GET', '/v1/apps/app-one/machines?include_deleted=true')).body.length, 1);
});

test('a killed machine stays stopped, with an exit event; with restart it comes back by itself', async (t) => {
  const at = await aHost(t);
  const { path, id } = await aMachine(at);
  const first = await pidOf(at, id);
  await at.host.killMachine('agt_one', { restart: true });
  await until(
    () => pidOf(at, id),
    (pid) => pid !== null && pid !== first,
  );
  await at.api('GET', `${path}/wait?timeout=10`);
  await at.host.killMachine('agt_one');
  const { body } = await at.api('GET', path);
  t.is(body.state, 'stopped');
  t.like(body.events[0], { type: 'exit', source: 'flyd' });
  t.is(body.events[0].request.exit_event.requested_stop, false);
  t.is((await at.api('GET', '/ingress/app-one/healthz')).status, 502);
  t.is((await at.api('POST', `${path}/start`)).body.previous_state, 'stopped');
  t.is((await at.api('GET', `${path}/wait?timeout=10`)).status, 200);
});

test('a machine with restart policy no stays down when its process dies', async (t) => {
  const at = await aHost(t);
  const { path } = await aMachine(at, 'app-one', { config: { restart: { policy: 'no' } } });
  await at.host.killMachine('agt_one', { restart: true });
  const { body } = await until(
    () => at.api('GET', path),
    ({ body: seen }) => seen.state !== 'started',
  );
  t.is(body.state, 'stopped');
});

test('a broken image fails, one that is never ready starts but says 503', async (t) => {
  const at = await aHost(t);
  const broken = await aMachine(at, 'app-one', { config: { image: 'runtime:broken' } });
  t.is((await at.api('GET', broken.path)).body.state, 'failed');
  const never = await aMachine(at, 'app-two', { config: { image: 'runtime:never-ready' } });
  t.is((await at.api('GET', never.path)).body.state, 'started');
  const answer = await until(
    () => at.api('GET', '/ingress/app-two/readyz'),
    ({ body }) => body.ready !== undefined,
  );
  t.is(answer.status, 503);
});

test('a machine whose volume was lost fails to boot: nothing empty takes its place', async (t) => {
  const at = await aHost(t);
  const { path, volumeId, version } = await aMachine(at);
  await at.api('POST', `${path}/stop`);
  await at.api('GET', `${path}/wait?state=stopped&version=${version}&timeout=10`);
  t.is((await at.api('POST', `/_/volumes/${volumeId}/lose`)).status, 200);
  await at.api('POST', `${path}/start`);
  t.is((await at.api('GET', `${path}/wait?state=failed&timeout=10`)).status, 200);
});

test('checks tell what the machine answers', async (t) => {
  const at = await aHost(t);
  const checks = {
    ready: { type: 'http', path: '/readyz', interval: '100ms' },
    none: { type: 'http', path: '/none' },
  };
  const { path } = await aMachine(at, 'app-one', { config: { checks } });
  const { body } = await until(
    () => at.api('GET', path),
    ({ body: seen }) => seen.checks[0]?.status === 'passing' && seen.checks[1]?.output === 'not found',
  );
  t.like(body.checks, [{ name: 'ready' }, { name: 'none', status: 'critical' }]);
});

test('many verbs at one machine at once leave it in one piece', async (t) => {
  const at = await aHost(t);
  const { path, id } = await aMachine(at);
  const verbs = ['start', 'stop', 'restart', 'start', 'stop', 'suspend'];
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => at.api('POST', `${path}/${verbs[n % 6]}`)));
  t.true(answers.every(({ status }) => status === 200 || status === 412));
  await at.api('GET', `${path}/wait?state=settled&timeout=10`);
  const { body } = await at.api('GET', path);
  const pid = await pidOf(at, id);
  t.is(body.state === 'started', pid !== null && isAlive(pid));
});
