import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../local/postgres/start.js';
import type { RunningList } from '../../local/process/leftovers.js';
import { freePort } from '../../local/process/ports.js';
import { startTemporal } from '../../local/temporal/start.js';
import { endLeftoverRuns, ownRun, runFolderPrefix, runningListOf } from './leftover-runs.js';

export interface Servers {
  /** Of the run; removed when it stops. */
  folder: string;
  databaseUrl: string;
  temporalAddress: string;
}

type Stops = (() => Promise<unknown>)[];
type Say = (line: string) => void;

/**
 * One PostgreSQL and one Temporal for a whole run, each unless the environment names one. What is to be stopped at the end is added
 * to `stops`, last first, also when the start fails half-way.
 * @throws Failure when one of them does not start
 */
export async function startServers(stops: Stops, say: Say): Promise<Servers> {
  await endLeftoverRuns();
  const folder = await mkdtemp(join(tmpdir(), runFolderPrefix));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  await ownRun(folder);
  await chmod(folder, 0o711); // the database's account must get through when we are root
  const running = runningListOf(folder);
  const starts = [database(folder, running, stops, say), temporal(folder, running, stops, say)] as const;
  await Promise.allSettled(starts); // so that what did start is stopped although the other did not
  const [databaseUrl, temporalAddress] = await Promise.all(starts);
  return { folder, databaseUrl, temporalAddress };
}

/** The database server that the environment names. */
export function givenDatabase(): string | undefined {
  return process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL'];
}

async function database(folder: string, running: RunningList, stops: Stops, say: Say): Promise<string> {
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

async function temporal(folder: string, running: RunningList, stops: Stops, say: Say): Promise<string> {
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
