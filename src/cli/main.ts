#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { type Config, readConfig } from '../config.js';
import { dumpSchema } from '../db/dump-schema.js';
import { askDatabase, type Db, makeDb } from '../db/knex.js';
import { migrate, missingMigrations } from '../db/migrate.js';
import { envExample } from '../env-example.js';
import { KeyRing } from '../models/key-ring.js';
import { reencrypt } from '../models/reencrypt.js';
import { applySchedules } from '../jobs/schedules.js';
import { applySearchAttributes } from '../jobs/search-attributes.js';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const DATABASE_PATIENCE_MS = 15_000;

/** A database that is just being started, as in a compose file or the local world, is worth a moment. */
const untilDatabaseAnswers = async (db: Db): Promise<void> => {
  const until = Date.now() + DATABASE_PATIENCE_MS;
  for (let tries = 1; ; tries++) {
    try {
      return await askDatabase(db);
    } catch (error) {
      if (Date.now() > until) throw error;
      if (tries === 1) process.stderr.write('waiting for the database\n');
      await sleep(500);
    }
  }
};

const withDb = async (work: (db: Db, config: Config<'admin'>) => Promise<void>): Promise<void> => {
  const config = readConfig('admin');
  const db = makeDb({ url: config.DATABASE_URL, max: 2, name: 'acp-admin' });
  try {
    await untilDatabaseAnswers(db);
    await work(db, config);
  } finally {
    await db.destroy();
  }
};

const program = new Command('agentctl').description('Command line of the agent control plane').version('0.1.0');
const admin = program
  .command('admin')
  .description('Administration of an installation; reads the same settings as the processes');

admin
  .command('migrate')
  .description('Apply the database migrations that are missing')
  .action(() =>
    withDb(async (db) => {
      const applied = await migrate(db);
      say(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`);
    }),
  );

admin
  .command('reencrypt')
  .description('Seal what an older key of ENCRYPTION_KEYS sealed with the first one')
  .action(() =>
    withDb(async (db, { ENCRYPTION_KEYS }) => {
      if (ENCRYPTION_KEYS === undefined) throw new Error('ENCRYPTION_KEYS is not set');
      say(`sealed ${await reencrypt(db, new KeyRing(ENCRYPTION_KEYS))} values anew`);
    }),
  );

admin
  .command('temporal')
  .description('Set Temporal up')
  .command('apply')
  .description('Register search attributes and schedules; harmless when they are there')
  .action(async () => {
    const config = readConfig('admin');
    const added = await applySearchAttributes(config);
    if (added.length > 0) say(`registered ${added.join(', ')}`);
    say(`scheduled ${(await applySchedules(config)).join(', ')}`);
  });

admin
  .command('doctor')
  .description('Tell what an installation lacks')
  .action(() =>
    withDb(async (db) => {
      const missing = await missingMigrations(db);
      if (missing.length === 0) return say('the database is up to date');
      say(`the database lacks ${missing.join(', ')}: run \`agentctl admin migrate\``);
      process.exitCode = 1;
    }),
  );

admin
  .command('schema')
  .description('Print src/db/schema.sql: what the migrations make of a database')
  .action(() =>
    withDb(async (db) => {
      process.stdout.write(await dumpSchema(db));
    }),
  );

admin
  .command('env-example')
  .description('Print .env.example: every setting with what it is for')
  .action(() => void process.stdout.write(envExample()));

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
