import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { startHost } from '../../local/host/host.js';
import { aControlPlane } from './a-control-plane.js';
import { aFolder, aHost, aMachine, apiOf, isAlive, ORG, TOKEN, until, type HostAtHand } from './a-host.js';

const entry = fileURLToPath(new URL('../../local/host/main.js', import.meta.url));

/** The stand-in as a process of its own, as `npm start` runs it. */
async function aHostProcess(t: ExecutionContext, dir: string): Promise<HostAtHand & { child: ChildProcess }> {
  const controlPlane = await aControlPlane(t);
  const child = spawn(process.execPath, [entry], {
    env: {
      ...process.env,
      HOST_STANDIN_PORT: '0',
      HOST_STANDIN_DIR: dir,
      HOST_STANDIN_TOKEN: TOKEN,
      HOST_STANDIN_ORG: ORG,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true, // so that a signal can be sent to the group, as a terminal does
  });
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM'); // in order, so that no machine writes into the folder while it is removed
    await once(child, 'exit');
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, url } = JSON.parse(line) as { msg: string; url: string };
    if (msg !== 'listening') continue;
    child.stdout.resume();
    const host = { url } as HostAtHand['host']; // the object itself lives in the other process
    return { host, child, controlPlane, dir, api: apiOf(url) };
  }
  throw new Error('the stand-in ended');
}

const pids = async ({ api }: HostAtHand): Promise<number[]> =>
  (await api('GET', '/_/machines')).body.machines.map(({ pid }: { pid: number }) => pid);

test('a stand-in closed and opened again knows everything and boots what was started', async (t) => {
  const first = await aHost(t);
  const one = await aMachine(first);
  const two = await aMachine(first, 'app-two');
  await first.api('POST', `${two.path}/stop`);
  await first.api('GET', `${two.path}/wait?state=stopped&version=${two.version}&timeout=10`);
  const before = first.host.effects();
  const old = await pids(first);
  await first.host.close();
  t.false(old.some((pid) => pid !== null && isAlive(pid)));

  const second = await aHost(t, { dir: first.dir });
  t.is((await second.api('GET', `${one.path}/wait?timeout=10`)).status, 200);
  t.is((await second.api('GET', two.path)).body.state, 'stopped');
  t.deepEqual(second.host.effects(), before, 'coming back is not an effect');
  t.is((await second.api('GET', '/v1/apps/app-one/secrets')).body.secrets.length, 2);
  await second.api('POST', `${two.path}/start`);
  t.is(second.host.effects().at(-1)?.seq, before.length + 1);
});

test('SIGTERM ends the stand-in and its machines; the next one boots them again', async (t) => {
  const dir = await aFolder(t);
  const at = await aHostProcess(t, dir);
  const { path } = await aMachine(at);
  const [pid = 0] = await pids(at);
  t.true(isAlive(pid));
  at.child.kill('SIGTERM');
  t.deepEqual(await once(at.child, 'exit'), [0, null]);
  t.false(isAlive(pid));
  const again = await aHostProcess(t, dir);
  t.is((await again.api('GET', `${path}/wait?timeout=10`)).status, 200);
});

test('a Ctrl-C that reaches the whole group does not make machines look stopped', async (t) => {
  const dir = await aFolder(t);
  const at = await aHostProcess(t, dir);
  const { path } = await aMachine(at);
  const [pid = 0] = await pids(at);
  t.true(isAlive(-pid), 'the machine leads a group of its own');
  process.kill(-(at.child.pid ?? 0), 'SIGINT');
  await once(at.child, 'exit');
  const again = await aHostProcess(t, dir);
  t.is((await again.api('GET', `${path}/wait?timeout=10`)).status, 200);
});

test('a stand-in killed with -9 leaves no machine running, and finds all again', async (t) => {
  const dir = await aFolder(t);
  const at = await aHostProcess(t, dir);
  const { path, id } = await aMachine(at);
  const [pid = 0] = await pids(at);
  at.child.kill('SIGKILL');
  await once(at.child, 'exit');
  await until(
    () => isAlive(pid),
    (alive) => !alive,
  );
  const again = await aHostProcess(t, dir);
  t.is((await again.api('GET', `${path}/wait?timeout=10`)).status, 200);
  t.is((await again.api('GET', '/_/machines')).body.machines[0].id, id);
  t.deepEqual((await pids(again)).length, 1);
});

test('a process left over from an earlier life is ended, a stranger with its pid is not', async (t) => {
  const first = await aHost(t);
  const { id } = await aMachine(first);
  await first.host.close();
  const idle = 'setInterval(() => {}, 1000)';
  const leftover = spawn(process.execPath, ['-e', idle, '--', '--machine-id', id], {
    stdio: 'ignore',
    detached: true,
  });
  const stranger = spawn(process.execPath, ['-e', idle], { stdio: 'ignore', detached: true });
  t.teardown(() => [leftover, stranger].forEach((child) => child.kill('SIGKILL')));
  for (const [child, isEnded] of [
    [leftover, true],
    [stranger, false],
  ] as const) {
    await markProcess(first.dir, child.pid ?? 0);
    const host = await startHost({ port: 0, dir: first.dir, token: TOKEN, org: ORG });
    await host.close();
    t.is(child.exitCode ?? child.signalCode, isEnded ? 'SIGKILL' : null);
  }
});

test('a second stand-in on the port of the first fails without touching the machines', async (t) => {
  const first = await aHost(t);
  const { path } = await aMachine(first);
  const port = Number(new URL(first.host.url).port);
  await t.throwsAsync(startHost({ port, dir: first.dir, token: TOKEN, org: ORG }), {
    code: 'EADDRINUSE',
  });
  t.is((await first.api('GET', path)).body.state, 'started');
  await until(
    () => first.api('GET', '/ingress/app-one/healthz'),
    ({ status }) => status === 200,
  );
  t.is(first.host.machinesOf('agt_one')[0]?.events.filter(({ type }) => type === 'exit').length, 0);
});

test('an effect log torn by a crash goes on after its last whole line', async (t) => {
  const first = await aHost(t);
  await first.api('POST', '/v1/apps', { name: 'one', org_slug: ORG });
  await first.host.close();
  const file = join(first.dir, 'effects.ndjson');
  await appendFile(file, '{"seq":2,"at":"20');
  const second = await aHost(t, { dir: first.dir });
  await second.api('POST', '/v1/apps', { name: 'two', org_slug: ORG });
  t.deepEqual(
    second.host.effects().map(({ seq, key }) => [seq, key]),
    [
      [1, 'one'],
      [2, 'two'],
    ],
  );
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line)),
    second.host.effects(),
  );
});

/** Makes the app's file say that the machine's process has this pid. */
async function markProcess(dir: string, pid: number): Promise<void> {
  const path = join(dir, 'apps', 'app-one.json');
  const app = JSON.parse(await readFile(path, 'utf8'));
  app.machines[0].process = { pid, port: 1 };
  await writeFile(path, JSON.stringify(app));
}
