import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { makeDb } from '../../src/db/knex.js';
import { migrate } from '../../src/db/migrate.js';
import { migrations } from '../../src/db/migrations/index.js';

const TEMPLATE_LOCK = 7_262_002;
/** One template a run: a server may outlive it, and the next run may have other migrations of the same names. */
const templateOf = (run: string): string => `acp_template_${run}_${migrations.length}`;
const template = (): string => templateOf(process.env['TEST_RUN'] ?? 'x');

export const adminUrl = (): string => {
  const url = process.env['TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run the tests by `npm test -- <file>`');
  return url;
};

const named = (server: string, name: string): string => {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
};

const asAdmin = async <T>(server: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Creates and migrates the template, once for all test processes. The caller holds the lock. */
const ensureTemplate = async (client: pg.Client, server: string): Promise<void> => {
  const name = template();
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1 and datistemplate', [name]);
  if (rowCount) return;
  await client.query(`drop database if exists ${name}`);
  await client.query(`create database ${name}`);
  const db = makeDb({ url: named(server, name), name: 'acp-test-template' });
  await migrate(db);
  await db.destroy();
  await client.query(`alter database ${name} is_template true`);
};

/** Removes the template of a run from a server that outlives it. */
export const dropTemplate = (server: string, run: string): Promise<void> =>
  asAdmin(server, async (client) => {
    const name = templateOf(run);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (!rowCount) return;
    await client.query(`alter database ${name} is_template false`);
    await client.query(`drop database ${name} with (force)`);
  });

export interface TestDatabase {
  url: string;
  name: string;
  drop(): Promise<void>;
}

const aName = (): string => `acp_test_${randomBytes(6).toString('hex')}`;

const testDatabase = (name: string, server: string): TestDatabase => ({
  url: named(server, name),
  name,
  drop: () =>
    asAdmin(server, async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
});

/** A database that nobody has migrated. */
export const anEmptyDatabase = async (server = adminUrl()): Promise<TestDatabase> => {
  const name = aName();
  await asAdmin(server, (client) => client.query(`create database ${name}`));
  return testDatabase(name, server);
};

/** A database of its own, cloned from the migrated template; on the server of the run unless told of another one (a superuser's URL). */
export const aDatabase = async (server = adminUrl()): Promise<TestDatabase> => {
  const name = aName();
  await asAdmin(server, async (client) => {
    // Cloning needs the template to itself: one at a time.
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    await ensureTemplate(client, server);
    await client.query(`create database ${name} template ${template()}`);
  });
  return testDatabase(name, server);
};
