import type { Transaction } from 'objection';
import { ApiError } from '../contract/errors.js';
import type { Db } from '../db/knex.js';
import { Agent } from '../models/agent.js';
import { findOwnJob, Job } from '../models/job.js';
import type { Log } from '../telemetry/log.js';
import { settleCanceled } from './create.js';
import { Dispatcher } from './dispatcher.js';
import { Temporal, type TemporalOptions } from './temporal.js';
import { JobWatch } from './watch.js';

export { createAgentJob, inTheWay, makeWay } from './create.js';

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
  readonly #log: Log;

  constructor({ db, databaseUrl, temporal, log }: JobsOptions) {
    this.#log = log;
    this.#temporal = new Temporal(temporal);
    this.#dispatcher = new Dispatcher(db, this.#temporal, log);
    this.watch = new JobWatch(db, databaseUrl, log);
  }

  /** Begins to dispatch and to listen. */
  run(): void {
    this.watch.start();
    this.#dispatcher.start();
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
    await this.watch.close();
    await this.#temporal.close();
  }

  /** Starts the workflow of a committed job. A shortcut: when it fails the dispatcher starts it, so it never throws. */
  async start(job: Job): Promise<void> {
    try {
      await this.#temporal.start(job);
    } catch (error) {
      this.#log.warn({ jobId: job.id, kind: job.kind, err: String(error) }, 'not started yet; the dispatcher will');
    }
  }

  /** Tells the workflow of a job that its row asks it to stop. A shortcut like start. */
  async hurryCancel(job: Job): Promise<void> {
    if (job.isFinished || !this.#temporal.seemsUp) return;
    try {
      await this.#dispatcher.deliverCancel(job);
    } catch (error) {
      this.#log.warn({ jobId: job.id, err: String(error) }, 'cancel not delivered yet; the dispatcher will');
    }
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
