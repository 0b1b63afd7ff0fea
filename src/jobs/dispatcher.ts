import type { Transaction } from 'objection';
import { type Db, isUnavailable } from '../db/knex.js';
import { isCall } from '../contract/shapes/job.js';
import { Job } from '../models/job.js';
import { settleBrokenCall } from '../models/settle-call.js';
import { settleJob } from '../models/settle-job.js';
import type { Log } from '../telemetry/log.js';
import { settleCanceled } from './create.js';
import { kinds } from './kinds.js';
import { Overdue } from './overdue.js';
import type { Temporal } from './temporal.js';

const PASS_MS = 1_000;
const BATCH = 25;
/** The starter of a job gets this long before anyone else tries. */
const UNSTARTED_AFTER = '2 seconds';
const RETRY_AFTER = '10 seconds';
/** A job silent for this long is looked up in Temporal; so is one past its deadline. */
const LOOK_AFTER = '30 seconds';

/** What the dispatcher asks of Temporal. */
export type DispatchTemporal = Pick<Temporal, 'start' | 'cancel' | 'stateOf' | 'terminate' | 'isReachable' | 'seemsUp'>;

/**
 * Keeps every acknowledged job moving: starts what a crash or an absent Temporal left unstarted, delivers cancels, and ends
 * jobs whose workflow is closed or gone. Runs in every API process; rows are shared out by SKIP LOCKED.
 */
export class Dispatcher {
  readonly #db: Db;
  readonly #temporal: DispatchTemporal;
  readonly #log: Log;
  readonly #overdue: Overdue;
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(db: Db, temporal: DispatchTemporal, log: Log, patience: number) {
    this.#db = db;
    this.#temporal = temporal;
    this.#log = log;
    this.#overdue = new Overdue(db, temporal, log, patience);
  }

  start(): void {
    const next = () => {
      if (this.#closed) return;
      this.#timer = setTimeout(() => {
        this.#pass = this.pass().finally(next);
      }, PASS_MS);
    };
    next();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#pass;
  }

  /** One round. Nothing it meets ends the rounds to come. */
  async pass(): Promise<void> {
    try {
      await this.#overdue.pass();
      if (!this.#temporal.seemsUp && !(await this.#temporal.isReachable())) return;
      await this.#startUnstarted();
      await this.#deliverCancels();
      await this.#settleLost();
    } catch (error) {
      this.#log.warn({ err: String(error) }, 'the dispatcher will try again');
    }
  }

  /** Takes rows for this process by marking them, so that no lock is held while Temporal is asked. */
  async #take(mark: 'dispatched_at' | 'looked_at' | 'cancel_delivered_at', where: string): Promise<Job[]> {
    const { rows } = await this.#db.raw<{ rows: { id: string }[] }>(
      `update jobs set ${mark} = now()
        where id in (select id from jobs where finished_at is null and kind = any(?) and (${where})
                      order by created_at limit ${BATCH} for update skip locked)
        returning id`,
      [Object.keys(kinds)], // another release may know more: those are for its processes
    );
    return Job.query(this.#db).findByIds(rows.map((row) => row.id));
  }

  /**
   * Does the work for each job. One that cannot be done is left to a later round and keeps no other waiting; where Temporal or the
   * database is away the round ends, for the others would only wait for the same.
   */
  async #each(jobs: Job[], what: string, work: (job: Job) => Promise<void>): Promise<void> {
    for (const job of jobs) {
      try {
        await work(job);
      } catch (error) {
        if (isUnavailable(error) || !this.#temporal.seemsUp || !(await this.#temporal.isReachable())) throw error;
        this.#log.error({ jobId: job.id, kind: job.kind, what, err: String(error) }, 'a job is left to a later round');
      }
    }
  }

  async #startUnstarted(): Promise<void> {
    const jobs = await this.#take(
      'dispatched_at',
      `status = 'queued' and created_at < now() - interval '${UNSTARTED_AFTER}'
       and (dispatched_at is null or dispatched_at < now() - interval '${RETRY_AFTER}')`,
    );
    await this.#each(jobs, 'start', async (job) => {
      const outcome = await this.#temporal.start(job, 5_000);
      if (outcome === 'started') this.#log.info({ jobId: job.id, kind: job.kind }, 'job started late');
    });
  }

  async #deliverCancels(): Promise<void> {
    const jobs = await this.#take(
      'cancel_delivered_at',
      `cancel_requested_at is not null
       and (cancel_delivered_at is null or cancel_delivered_at < now() - interval '${RETRY_AFTER}')`,
    );
    await this.#each(jobs, 'cancel', (job) => this.deliverCancel(job));
  }

  /** Hands a cancel to the workflow. A job without one has done nothing yet and ends here. */
  async deliverCancel(job: Job): Promise<void> {
    const answer = await this.#temporal.cancel(job);
    if (answer === 'gone' && job.status === 'queued')
      await this.#db.transaction((trx: Transaction) => settleCanceled(trx, job.id, job.cancelCode ?? 'canceled'));
  }

  async #settleLost(): Promise<void> {
    const jobs = await this.#take(
      'looked_at',
      `greatest(updated_at, looked_at) < now() - interval '${LOOK_AFTER}'
       or (deadline_at < now() - interval '${RETRY_AFTER}'
           and (looked_at is null or looked_at < now() - interval '${RETRY_AFTER}'))`,
    );
    await this.#each(jobs, 'settle', async (job) => {
      const state = await this.#temporal.stateOf(job);
      if (state === 'running' || (state === 'gone' && job.status === 'queued')) return;
      await this.#settle(job);
    });
  }

  async #settle(job: Job): Promise<void> {
    const settle = isCall(job.kind) ? settleBrokenCall : settleJob;
    const settled = await this.#db.transaction((trx: Transaction) =>
      settle(trx, job.id, {
        status: 'failed',
        error: {
          code: 'outcome_unknown',
          message: 'The workflow of this job ended without finishing it.',
          retryable: true,
          needsOperator: true,
        },
      }),
    );
    if (settled) this.#log.error({ jobId: job.id, kind: job.kind }, 'settled a job whose workflow is gone');
  }
}
