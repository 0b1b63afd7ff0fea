import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { dumpSchema } from '../../src/db/dump-schema.js';
import { type Db, makeDb } from '../../src/db/knex.js';
import { migrate, missingMigrations, requireSchema } from '../../src/db/migrate.js';
import { migrations } from '../../src/db/migrations/index.js';
import { aDatabase, anEmptyDatabase, type TestDatabase } from '../support/a-database.js';

const all = migrations.map((migration) => migration.name);

/** A pool on the database; both are gone when the test is over. */
const connect = async (t: ExecutionContext, making: Promise<TestDatabase>): Promise<{ db: Db; url: string }> => {
  const database = await making;
  const db = makeDb({ url: database.url, name: 'acp-test' });
  t.teardown(async () => {
    await db.destroy();
    await database.drop();
  });
  return { db, url: database.url };
};

test('the migrations make what src/db/schema.sql says', async (t) => {
  const { db } = await connect(t, aDatabase());
  t.is(
    await dumpSchema(db),
    readFileSync('src/db/schema.sql', 'utf8'),
    'write it again: DATABASE_URL=<a migrated database> node dist/src/cli/main.js admin schema > src/db/schema.sql',
  );
});

test('the dump tells of every kind of change', async (t) => {
  const { db } = await connect(t, aDatabase());
  const changes = [
    'alter table agents add column colour text',
    'alter table agents alter column name drop not null',
    `alter table agents alter column persona set default 'none'`,
    'alter table agents alter column usage_messages type numeric',
    'alter table agents add check (generation > 0)',
    'create index agents_by_name on agents (name)',
    'drop trigger job_changed on jobs',
    'create or replace function job_changed() returns trigger language plpgsql as $$ begin return new; end $$',
    'create table colours (name text)',
  ];
  for (const change of changes) {
    const before = await dumpSchema(db);
    await db.raw(change);
    t.not(await dumpSchema(db), before, change);
  }
});

test('agentctl admin schema prints the dump', async (t) => {
  const { url } = await connect(t, aDatabase());
  const { stdout } = await promisify(execFile)(process.execPath, ['dist/src/cli/main.js', 'admin', 'schema'], {
    env: { ...process.env, DATABASE_URL: url },
  });
  t.is(stdout, readFileSync('src/db/schema.sql', 'utf8'));
});

test('migrating twice changes nothing the second time', async (t) => {
  const { db } = await connect(t, anEmptyDatabase());
  t.deepEqual(await migrate(db), all);
  const once = await dumpSchema(db);
  await db('users').insert({ id: 'usr_x', issuer: 'i', subject: 's', email: '', name: '' });
  t.deepEqual(await migrate(db), []);
  t.is(await dumpSchema(db), once);
  t.is((await db('users')).length, 1);
});

test('migrations started at once by several processes are applied once', async (t) => {
  const { db, url } = await connect(t, anEmptyDatabase());
  const others = Array.from({ length: 3 }, () => makeDb({ url, max: 2, name: 'acp-test-rival' }));
  const applied = await Promise.all([db, ...others].map(migrate));
  await Promise.all(others.map((other) => other.destroy()));
  t.deepEqual(applied.flat(), all);
  t.deepEqual(await missingMigrations(db), []);
});

test('a migration that fails leaves everything as it was', async (t) => {
  const { db, url } = await connect(t, anEmptyDatabase());
  const rival = makeDb({ url, max: 1, name: 'acp-test-rival' });
  await rival.raw('create table users (id text)');
  const { warn } = console;
  console.warn = () => undefined; // knex prints the whole failed migration
  await t.throwsAsync(migrate(db));
  console.warn = warn;
  t.deepEqual(await missingMigrations(db), all, 'the failed one is not noted as done');
  t.is((await db.raw<{ rows: unknown[] }>(`select 1 from pg_tables where tablename = 'agents'`)).rows.length, 0);
  await rival.raw('drop table users');
  await rival.destroy();
  t.deepEqual(await migrate(db), all);
});

test('a process refuses a database that lacks what its code needs, and says what to do', async (t) => {
  const { db } = await connect(t, anEmptyDatabase());
  t.deepEqual(await missingMigrations(db), all);
  const error = await t.throwsAsync(requireSchema(db));
  t.regex(error.message, /agentctl admin migrate/);
  for (const name of all) t.true(error.message.includes(name));
  await migrate(db);
  await t.notThrowsAsync(requireSchema(db));
  await db('knex_migrations')
    .delete()
    .where({ name: all.at(-1) });
  await t.throwsAsync(requireSchema(db), { message: new RegExp(all.at(-1) ?? '') });
});
