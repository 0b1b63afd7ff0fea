import type { Transaction } from 'objection';
import { ApiError } from '../contract/errors.js';
import type { Db } from '../db/knex.js';
import { Agent } from '../models/agent.js';
import { findOwnJob, Job } from '../models/job.js';
import type { Log } from '../telemetry/log.js';
import { settleCanceled } from './create.js';
import { Dispatcher } from './dispatcher.js';
import { Janitor } from './janitor.js';
import { Temporal, type TemporalOptions } from './temporal.js';
import { JobWatch } from './watch.js';

export { createAgentJob, inTheWay, makeWay, supersede } from './create.js';
export { createCall, supersedeCalls } from './create-call.js';

/** Starts and cancels on their way to Temporal at a time; what comes beyond is left to the dispatcher. */
const MOST_UNDER_WAY = 100;

export interface JobsOptions {
  db: Db;
  databaseUrl: string;
  temporal: TemporalOptions;
  log: Log;
}

/** Starting, canceling and watching jobs. The rows are the truth; Temporal is told after commit and, if need be, told again. */
export class Jobs {
  readonly watch: JobWatch;
  readonly #temporal: Temporal;
  readonly #dispatcher: Dispatcher;
  readonly #janitor: Janitor;
  readonly #log: Log;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor({ db, databaseUrl, temporal, log }: JobsOptions) {
    this.#log = log;
    this.#temporal = new Temporal(temporal);
    this.#dispatcher = new Dispatcher(db, this.#temporal, log, temporal.patience);
    this.#janitor = new Janitor(db, log);
    this.watch = new JobWatch(db, databaseUrl, log);
  }

  /** Begins to dispatch and to listen. */
  run(): void {
    this.watch.start();
    this.#dispatcher.start();
    this.#janitor.start();
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
    await this.#janitor.close();
    await Promise.all(this.#underWay);
    await this.watch.close();
    await this.#temporal.close();
  }

  /**
   * Sets the workflow of a committed job going, without keeping the caller waiting. A shortcut: when Temporal does not take it at
   * once, or too much is under way, the dispatcher starts it.
   */
  start(job: Job): void {
    this.#soon(job, 'start', () => this.#temporal.start(job));
  }

  /** Tells the workflow of a job that its row asks it to stop. A shortcut like start. */
  hurryCancel(job: Job): void {
    if (!job.isFinished) this.#soon(job, 'cancel', () => this.#dispatcher.deliverCancel(job));
  }

  #soon(job: Job, what: string, work: () => Promise<unknown>): void {
    if (this.#underWay.size >= MOST_UNDER_WAY || !this.#temporal.seemsUp) return;
    const done = work()
      .catch((error: unknown) => {
        const { id: jobId, kind } = job;
        this.#log.warn({ jobId, kind, what, err: String(error) }, 'not delivered yet; the dispatcher will');
      })
      .finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  /** Writes the wish to cancel; a job that no worker has claimed ends at once. */
  async requestCancel(trx: Transaction, userId: string, jobId: string): Promise<Job> {
    const found = await findOwnJob(trx, userId, jobId);
    if (!found) throw new ApiError('not_found');
    // Lock order: the agent, then the job.
    if (found.agentId !== null) await Agent.query(trx).findById(found.agentId).select('id').forUpdate();
    const job = await Job.query(trx).findById(jobId).forUpdate().throwIfNotFound();
    if (job.isFinished) throw new ApiError('conflict', `The job has ended: ${job.status}.`);
    if (!job.cancelable) throw new ApiError('conflict', 'This job cannot be canceled.');
    if (job.cancelRequestedAt === null)
      await trx('jobs').update({ cancelRequestedAt: trx.fn.now(), cancelCode: 'canceled' }).where({ id: jobId });
    if (job.status === 'queued') await settleCanceled(trx, jobId, 'canceled');
    return Job.query(trx).findById(jobId).throwIfNotFound();
  }

  isTemporalReachable(): Promise<boolean> {
    return this.#temporal.isReachable();
  }
}
