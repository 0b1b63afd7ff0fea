import knexModule, { type Knex } from 'knex';
import { migrations, type Migration } from './migrations/index.js';

/** Knex's bookkeeping over our list; knex takes its own lock row, the advisory lock keeps out a second process that is still creating it. */
const source: Knex.MigrationSource<Migration> = {
  getMigrations: () => Promise.resolve(migrations),
  getMigrationName: (migration) => migration.name,
  getMigration: (migration) => Promise.resolve({ up: migration.up, down: () => Promise.resolve() }),
};

const MIGRATION_LOCK = 7_262_001;

/** Applies what is missing; returns the names applied. Waits at most 10 s for a table lock, so a busy system is never queued behind a migration. */
export const migrate = async (db: Knex): Promise<string[]> => {
  // Knex's migrator strips the name mapper off the client it runs on: it gets one of its own.
  const own = knexModule.default({ ...(db.client as { config: Knex.Config }).config, pool: { min: 0, max: 1 } }); // typed any
  try {
    return await own.transaction(async (trx) => {
      await trx.raw(`set local lock_timeout = '10s'`);
      await trx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
      const [, applied] = (await trx.migrate.latest({ migrationSource: source, disableTransactions: true })) as [
        number,
        string[],
      ]; // knex types it any
      return applied;
    });
  } finally {
    await own.destroy();
  }
};

/** Names of migrations this code needs and the database lacks. */
export const missingMigrations = async (db: Knex): Promise<string[]> => {
  const { rows } = await db.raw<{ rows: { there: boolean }[] }>(
    `select to_regclass('knex_migrations') is not null as there`,
  );
  if (!rows[0]?.there) return migrations.map((migration) => migration.name);
  const done = await db<{ name: string }>('knex_migrations').select('name');
  const names = new Set(done.map((row) => row.name));
  return migrations.map((migration) => migration.name).filter((name) => !names.has(name));
};

/** A process refuses a schema older than its own code. */
export const requireSchema = async (db: Knex): Promise<void> => {
  const missing = await missingMigrations(db);
  if (missing.length > 0)
    throw new Error(`the database lacks ${missing.join(', ')}: run \`agentctl admin migrate\` first`);
};
