import knexModule, { type Knex } from 'knex';
import objection from 'objection';
import pg from 'pg';

export type Db = Knex;

const INT8 = 20;

/** int8 as number: every count here stays far below 2^53. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
};

export interface DbOptions {
  url: string;
  /** Connections at most. */
  max?: number;
  /** Shown in pg_stat_activity. */
  name: string;
}

const ignore = (): void => undefined;
/** Knex prints plain text to standard output; what it has to say reaches whoever asked as an error, and from there our log. */
const silent: Knex.Logger = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore };

/** One pool a process. Nothing waits for the database longer than 5 s to connect, 10 s for a statement. */
export const makeDb = ({ url, max = 10, name }: DbOptions): Db =>
  // The named export of knex fails at run time in ESM.
  knexModule.default({
    client: 'pg',
    connection: {
      connectionString: url,
      application_name: name,
      connectionTimeoutMillis: 4_000,
      statement_timeout: 10_000,
      idle_in_transaction_session_timeout: 30_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      query_timeout: 15_000,
      types,
    } as Knex.PgConnectionConfig, // knex does not know every option it hands to pg
    pool: { min: 0, max, idleTimeoutMillis: 30_000 },
    acquireConnectionTimeout: 5_000,
    log: silent,
    // An error names the statement, never the values in it.
    compileSqlOnError: false,
    ...objection.knexSnakeCaseMappers(),
  });

const unavailableCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '53300', // too_many_connections
  '57014', // statement timeout
  '40P01', // deadlock_detected: asked again, it goes through
  '40001', // serialization_failure
]);

/** What pg says of a connection that broke, hangs, or was never made; it gives these no code. */
const withoutCode =
  /Connection terminated|Connection ended|timeout expired|timeout exceeded when trying to connect|Query read timeout|is not queryable/i;

/** Whether an error says that the database cannot be reached now, rather than that the query is wrong. */
export const isUnavailable = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  if (error.name === 'KnexTimeoutError') return true;
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  const nativeError: unknown = Reflect.get(error, 'nativeError'); // Objection wraps what pg threw
  if (nativeError !== undefined && nativeError !== error) return isUnavailable(nativeError);
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string' && (unavailableCodes.has(code) || code.startsWith('08'))) return true;
  return withoutCode.test(error.message);
};

/** How long whoever asks for readiness is kept waiting. */
const ASK_MS = 2_000;

/** Throws when the database does not answer now, also when it says nothing at all. */
export const askDatabase = async (db: Db): Promise<void> => {
  const silence = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error('the database does not answer')), ASK_MS).unref();
  });
  await Promise.race([db.raw('select 1'), silence]);
};
