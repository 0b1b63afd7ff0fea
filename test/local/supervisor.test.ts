import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Failure } from '../../local/process/failure.js';
import { writeJson } from '../../local/process/files.js';
import { isAlive } from '../../local/process/identity.js';
import { spawnDetached, type Launch } from '../../local/process/launch.js';
import { RunningList } from '../../local/process/leftovers.js';
import { Supervisor } from '../../local/process/supervisor.js';
import { until } from '../../local/process/wait.js';
import { aFolder } from './a-host.js';

/** A process that runs this script and tells its pid; what it says goes to a log. */
const aLaunch = (dir: string, script: string): Launch => ({
  name: 'sleeper',
  command: process.execPath,
  args: ['-e', `console.log(process.pid); ${script}`],
  env: {},
  logFile: join(dir, 'sleeper.log'),
  ready: async () => (await pids(dir)).length > 0,
  readyWithinMs: 5_000,
});

const pids = async (dir: string): Promise<number[]> =>
  (await readFile(join(dir, 'sleeper.log'), 'utf8')).split('\n').filter(Boolean).map(Number);

async function aSupervisor(t: ExecutionContext) {
  const dir = await aFolder(t);
  const list = new RunningList(join(dir, 'processes.json'));
  const said: string[] = [];
  const supervisor = new Supervisor(list, (line) => said.push(line));
  t.teardown(() => supervisor.killAll());
  return { dir, list, supervisor, said };
}

const sleep = 'setInterval(() => {}, 1_000);';

test('a process that is killed comes back, and says so', async (t) => {
  const { dir, supervisor, said } = await aSupervisor(t);
  await supervisor.start(aLaunch(dir, sleep));
  const [first = 0] = await pids(dir);
  process.kill(first, 'SIGKILL');
  t.true(await until(async () => (await pids(dir)).length === 2, 5_000));
  t.true(said.includes('sleeper ended with signal SIGKILL: starting it again'));
  const [, second = 0] = await pids(dir);
  await supervisor.stopAll([['sleeper']]);
  t.false(isAlive(second));
});

test('a process that ends before it is ready is a failure with its last words', async (t) => {
  const { dir, supervisor } = await aSupervisor(t);
  const launch = { ...aLaunch(dir, "console.log('no luck today'); process.exit(3);"), ready: async () => false };
  const attempt = supervisor.start(launch);
  await t.throwsAsync(attempt, { instanceOf: Failure, message: /exit code 3[^]*no luck today/ });
});

test('a program that is not there is a failure', async (t) => {
  const { dir, supervisor } = await aSupervisor(t);
  const launch = { ...aLaunch(dir, sleep), command: join(dir, 'absent'), ready: async () => false };
  await t.throwsAsync(supervisor.start(launch), { instanceOf: Failure, message: /ENOENT/ });
});

test('a process that does not hear SIGTERM is killed, with what it started', async (t) => {
  const { dir, supervisor } = await aSupervisor(t);
  const deaf = `process.on('SIGTERM', () => {}); ${sleep}`;
  const child = `require('child_process').spawn(process.execPath, ['-e', "console.log(process.pid); ${sleep}"], { stdio: 'inherit' });`;
  await supervisor.start({ ...aLaunch(dir, deaf + child), stopWithinMs: 200 });
  t.true(await until(async () => (await pids(dir)).length === 2, 5_000));
  await supervisor.stopAll([]);
  const isGone = async (): Promise<boolean> => (await pids(dir)).every((pid) => !isAlive(pid));
  t.true(await until(isGone, 2_000));
});

test('what a killed starter left behind is ended by the next one, and nothing else is', async (t) => {
  const { dir, list } = await aSupervisor(t);
  const left = spawnDetached(aLaunch(dir, sleep));
  await list.add('sleeper', left.pid, 'SIGTERM');
  await list.add('reused pid', process.pid, 'SIGTERM');
  const file = join(dir, 'processes.json');
  const records = JSON.parse(await readFile(file, 'utf8'));
  records['reused pid'].startedAt = 'another time';
  await writeJson(file, records);
  t.deepEqual(await new RunningList(file).endLeftovers(), ['sleeper']);
  t.is(await left.exited, 'signal SIGTERM');
});
