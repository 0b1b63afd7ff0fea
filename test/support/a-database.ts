import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { makeDb } from '../../src/db/knex.js';
import { migrate } from '../../src/db/migrate.js';
import { migrations } from '../../src/db/migrations/index.js';

const TEMPLATE_LOCK = 7_262_002;
/** One template for each state of the migrations, so that a server that outlives a run serves the next one too. */
const template = `acp_template_${process.env['TEST_RUN'] ?? 'x'}_${migrations.length}`;

export const adminUrl = (): string => {
  const url = process.env['TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run the tests by `npm test -- <file>`');
  return url;
};

const named = (name: string): string => {
  const url = new URL(adminUrl());
  url.pathname = `/${name}`;
  return url.href;
};

const asAdmin = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: adminUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Creates and migrates the template, once for all test processes. The caller holds the lock. */
const ensureTemplate = async (client: pg.Client): Promise<void> => {
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1 and datistemplate', [template]);
  if (rowCount) return;
  await client.query(`drop database if exists ${template}`);
  await client.query(`create database ${template}`);
  const db = makeDb({ url: named(template), name: 'acp-test-template' });
  await migrate(db);
  await db.destroy();
  await client.query(`alter database ${template} is_template true`);
};

export interface TestDatabase {
  url: string;
  name: string;
  drop(): Promise<void>;
}

/** A database of its own, cloned from the migrated template. */
export const aDatabase = async (): Promise<TestDatabase> => {
  const name = `acp_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(async (client) => {
    // Cloning needs the template to itself: one at a time.
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    await ensureTemplate(client);
    await client.query(`create database ${name} template ${template}`);
  });
  return {
    url: named(name),
    name,
    drop: () => asAdmin(async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  };
};
