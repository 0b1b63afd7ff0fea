import pg from 'pg';
import { start, type Launch } from '../process/launch.js';
import { databaseAccount } from './account.js';
import { findBinaries } from './binaries.js';
import { openDataFolder } from './data-folder.js';
import { endLeftover } from './leftover.js';

export interface PostgresOptions {
  /** Holds the data and the password; made when missing. */
  dir: string;
  port: number;
  logFile: string;
  /** Made when missing; `postgres` (always there) by default. */
  database?: string;
  /** Settings of the server, as in postgresql.conf. */
  settings?: Record<string, string | number>;
  /** Hears what a person should know, one line at a time. */
  note?: (line: string) => void;
}

export interface Postgres {
  /** Connects as superuser. */
  url: string;
  pid: number;
  stop: () => Promise<void>;
}

/**
 * Starts a PostgreSQL on 127.0.0.1 and waits until it answers.
 * @throws Failure when it cannot run here; its message says what to do
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { launch, url } = await postgresLaunch(options);
  const { pid, stop } = await start(launch);
  return { url, pid, stop };
}

/** Prepares the data folder and says how to start the server, for callers that watch over it themselves. */
export async function postgresLaunch(options: PostgresOptions): Promise<{ launch: Launch; url: string }> {
  const { dir, port, logFile, database = 'postgres', note = () => undefined } = options;
  const account = await databaseAccount();
  const binaries = await findBinaries(account);
  const { data, password } = await openDataFolder(dir, binaries, account, note);
  await endLeftover(data);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = (name: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${name}`;
  const launch: Launch = {
    name: 'postgres',
    command: binaries.postgres,
    args: ['-D', data, '-p', String(port), ...flags],
    env: { ...process.env, LC_ALL: 'C' },
    logFile,
    ready: () => hasDatabase(url('postgres'), database),
    stopSignal: 'SIGINT', // the fast shutdown: SIGTERM would wait for every client to leave
    runAs: account,
    hint: `if its data is broken, move ${data} away or choose another LOCAL_DIR`,
    beforeRestart: () => endLeftover(data),
  };
  return { launch, url: url(database) };
}

/** Answers true once the server takes connections and has the database. */
async function hasDatabase(url: string, database: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
    if (!rowCount) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
    return true;
  } finally {
    await client.end();
  }
}
