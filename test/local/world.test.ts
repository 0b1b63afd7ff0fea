import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { isAlive } from '../../local/process/identity.js';
import { freePort } from '../../local/process/ports.js';
import { until } from '../../local/process/wait.js';
import { readWorld } from '../../local/world-file.js';
import { aFolder } from './a-host.js';

const run = promisify(execFile);

/** `npm start` without npm, with nothing in its environment but what a person would set. */
function aStart(t: ExecutionContext, settings: Record<string, string>) {
  const { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI_PATH } = process.env;
  const env = { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI_PATH, ...settings };
  const child = spawn(process.execPath, ['dist/local/main.js'], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'close').then(() => output);
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return { child, env, ended, isReady: () => until(async () => /^ready/m.test(output), 60_000), said: () => output };
}

const pidsOf = async (dir: string): Promise<number[]> => {
  const records = JSON.parse(await readFile(join(dir, 'processes.json'), 'utf8')) as Record<string, { pid: number }>;
  return Object.values(records).map(({ pid }) => pid);
};

const noneOf = (pids: number[]) => async (): Promise<boolean> => !pids.some(isAlive);

test('a world starts, outlives the death of its starter, and leaves no process behind', async (t) => {
  t.timeout(180_000);
  const dir = await aFolder(t);
  await chmod(dir, 0o711); // as root, the database's account must get through
  const settings = { LOCAL_DIR: dir, PORT: String(await freePort()) };
  const first = aStart(t, settings);
  t.true(await first.isReady(), first.said());
  const world = await readWorld(join(dir, 'world.json'));
  const { stdout: token } = await run(process.execPath, ['dist/local/world.js', 'token'], { env: first.env });
  const headers = { authorization: `Bearer ${token.trim()}` };
  const me = await fetch(`${world.apiUrl}/api/users/me`, { headers });
  t.like(await me.json(), { email: 'ada@example.com' });

  const rival = aStart(t, settings);
  t.regex(await rival.ended, /A world already runs from/);

  const before = await pidsOf(dir);
  first.child.kill('SIGKILL');
  const second = aStart(t, settings);
  t.true(await second.isReady(), second.said());
  t.true(await until(noneOf(before), 5_000));
  t.deepEqual(await readWorld(join(dir, 'world.json')), world, 'the ports are kept');
  t.is((await fetch(`${world.apiUrl}/api/users/me`, { headers })).status, 200, 'old tokens stay good');

  const after = await pidsOf(dir);
  second.child.kill('SIGINT');
  await second.ended;
  t.is(second.child.exitCode, 0);
  t.true(await noneOf(after)());
});

test('a port that is in use is one sentence that says what to do', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const world = aStart(t, { LOCAL_DIR: await aFolder(t), PORT: String(port) });
  t.regex(await world.ended, new RegExp(`\\nworld: Port ${port} is in use by another program: .*PORT=.*\\n$`));
  t.is(world.child.exitCode, 1);
});

test('a data folder that cannot be used is one sentence that says what to do', async (t) => {
  const world = aStart(t, { LOCAL_DIR: '/dev/null/world' });
  t.regex(await world.ended, /^world: The data folder \/dev\/null\/world cannot be used .*LOCAL_DIR=.*\n$/);
  t.is(world.child.exitCode, 1);
});
