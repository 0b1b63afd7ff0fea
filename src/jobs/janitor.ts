import type { Db } from '../db/knex.js';
import type { Log } from '../telemetry/log.js';

const PASS_MS = 60_000;
const BATCH = 1_000;
/** Of one table in one pass. */
const MOST_BITES = 50;

/**
 * What has expired and may go, and by which column it is found. Expiry itself is a predicate wherever it matters; this only tidies.
 * Sessions are kept a while after their end, for the audit trail's readers, and for as long as there are some that they let in.
 */
const rubbish: { table: string; key: string; where: string }[] = [
  { table: 'idempotency_keys', key: 'ctid', where: `created_at < now() - interval '24 hours'` },
  { table: 'guesses', key: 'subject', where: `ends_at < now()` },
  { table: 'device_logins', key: 'id', where: `expires_at < now() - interval '1 day'` },
  { table: 'bootstrap_tokens', key: 'hash', where: `expires_at < now() - interval '1 day'` },
  {
    table: 'token_families',
    key: 'id',
    where: `(revoked_at < now() - interval '90 days' or expires_at < now() - interval '90 days')
            and not exists (select 1 from device_logins d where d.family_id = token_families.id)
            and not exists (select 1 from bootstrap_tokens b where b.family_id = token_families.id)
            and not exists (select 1 from token_families f where f.opened_by = token_families.id)`,
  },
  { table: 'machine_calls', key: 'job_id', where: `expires_at < now()` },
  // Reading a log leaves a job each time, and nobody looks for it later.
  { table: 'jobs', key: 'id', where: `kind = 'agent.logs' and finished_at < now() - interval '24 hours'` },
  // Of a command only the exit code is kept; the audit trail goes on naming the job.
  { table: 'jobs', key: 'id', where: `kind = 'agent.command' and finished_at < now() - interval '90 days'` },
  { table: 'gateway_tokens', key: 'id', where: `state = 'retired' and retired_at < now() - interval '90 days'` },
];

/** Sweeps what has expired, in bounded bites, beside the dispatcher. Several at once do no harm. */
export class Janitor {
  readonly #db: Db;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<unknown> = Promise.resolve();

  constructor(db: Db, log: Log) {
    this.#db = db;
    this.#log = log;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#pass = this.pass();
    }, PASS_MS);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pass;
  }

  /** One round; returns how many rows went. */
  async pass(): Promise<number> {
    let gone = 0;
    try {
      for (const { table, key, where } of rubbish) {
        for (let bites = 0, bite = BATCH; bite === BATCH && bites < MOST_BITES; bites++) {
          const { rowCount } = await this.#db.raw<{ rowCount: number }>(
            `delete from ${table} where ${key} in (select ${key} from ${table} where ${where} limit ${BATCH})`,
          );
          bite = rowCount;
          gone += rowCount;
        }
      }
    } catch (error) {
      this.#log.warn({ err: String(error) }, 'the janitor will try again');
    }
    return gone;
  }
}
