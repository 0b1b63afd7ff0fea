import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../local/postgres/start.js';
import { hearEnding } from '../../local/process/ending.js';
import { Failure } from '../../local/process/failure.js';
import type { RunningList } from '../../local/process/leftovers.js';
import { freePort } from '../../local/process/ports.js';
import { startTemporal } from '../../local/temporal/start.js';
import { dropTemplate } from './a-database.js';
import { endLeftoverRuns, ownRun, runFolderPrefix, runningListOf } from './leftover-runs.js';
import { runAva } from './run-ava.js';
import { uncalledEndpoints } from './uncalled-endpoints.js';

/** `npm test`: one PostgreSQL and one Temporal for the whole run, then AVA, then both are stopped. */

const say = (line: string): void => console.log(`test: ${line}`);
const stops: (() => Promise<unknown>)[] = [];
const interrupted = new AbortController();
hearEnding({ end: () => interrupted.abort(), hurry: () => undefined });

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`test: ${error.message}`);
  process.exitCode = 1;
} finally {
  for (const stop of stops.toReversed()) await stop();
}

async function run(args: readonly string[]): Promise<number> {
  await endLeftoverRuns();
  const folder = await mkdtemp(join(tmpdir(), runFolderPrefix));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  await ownRun(folder);
  await chmod(folder, 0o711); // the database's account must get through when we are root
  const running = runningListOf(folder);
  const starts = [database(folder, running), temporal(folder, running)] as const;
  await Promise.allSettled(starts); // so that what did start is stopped although the other did not
  const [databaseUrl, temporalAddress] = await Promise.all(starts);
  const testRun = randomBytes(4).toString('hex');
  const calledFile = join(folder, 'called');
  const env = {
    ...process.env,
    TEST_DATABASE_URL: databaseUrl,
    TEST_TEMPORAL_ADDRESS: temporalAddress,
    TEST_RUN: testRun,
    TEST_CALLED_FILE: calledFile,
  };
  const code = await runAva(args, env, interrupted.signal);
  if (givenDatabase() !== undefined) await dropTemplate(databaseUrl, testRun);
  if (code !== 0 || args.length > 0) return code; // some of the tests do not call everything
  const uncalled = await uncalledEndpoints(calledFile);
  if (uncalled.length === 0) return 0;
  console.error(`test: no test calls ${uncalled.join(', ')}: every endpoint of the table needs one that does`);
  return 1;
}

function givenDatabase(): string | undefined {
  return process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL'];
}

async function database(folder: string, running: RunningList): Promise<string> {
  const given = givenDatabase();
  if (given) {
    say('PostgreSQL as the environment says');
    return given;
  }
  const postgres = await startPostgres({
    dir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 300 },
    note: say,
  });
  stops.push(postgres.stop);
  await running.add('postgres', postgres.pid, 'SIGINT');
  say(`PostgreSQL on ${new URL(postgres.url).host}`);
  return postgres.url;
}

async function temporal(folder: string, running: RunningList): Promise<string> {
  const given = process.env['TEST_TEMPORAL_ADDRESS'] ?? process.env['TEMPORAL_ADDRESS'];
  if (given) {
    say(`Temporal at ${given}, as the environment says`);
    return given;
  }
  const port = await freePort();
  const server = await startTemporal({ port, logFile: join(folder, 'temporal.log'), note: say });
  stops.push(server.stop);
  await running.add('temporal', server.pid, 'SIGTERM');
  say(`Temporal on ${server.address}`);
  return server.address;
}
