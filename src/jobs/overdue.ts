import { isCall } from '../contract/shapes/job.js';
import { type Db, isUnavailable } from '../db/knex.js';
import { CALL_BEGINS_WITHIN_SECONDS } from '../models/begin-call.js';
import type { Job } from '../models/job.js';
import { listOverdue } from '../models/overdue-job.js';
import { settleAbandonedCall } from '../models/settle-call.js';
import { type Outcome, settleJob } from '../models/settle-job.js';
import { rescueStranded } from '../models/stranded-agent.js';
import type { Log } from '../telemetry/log.js';
import { kinds } from './kinds.js';
import type { Temporal } from './temporal.js';

/** Past the deadline a job undoes its work: two steps of six minutes at most. */
const GRACE_SECONDS = 15 * 60;
/** Asked for and not begun by then: no worker is there. */
const QUEUE_SECONDS = 60 * 60;
const PASS_MS = 5_000;
const BATCH = 25;

const outcomeOf = ({ status }: Job): Outcome => ({
  status: 'failed',
  error: {
    code: 'deadline_exceeded',
    message: status === 'queued' ? 'No worker began the job in time.' : 'The job did not finish in time.',
    retryable: true,
    needsOperator: true,
  },
});

/**
 * The last resort for jobs that nobody works on any more, and for agents that wait for a job which is not there. It asks the rows alone:
 * also while Temporal is away, and whatever it thinks of the workflow, the agent has a way out. Should the workflow wake up later, it finds
 * that it no longer holds the agent, and changes nothing.
 */
export class Overdue {
  readonly #db: Db;
  readonly #temporal: Pick<Temporal, 'isReachable' | 'terminate'>;
  readonly #log: Log;
  /** Factor on the times of what moves an agent, and on every grace. */
  readonly #patience: number;
  #nextAt = 0;

  constructor(db: Db, temporal: Pick<Temporal, 'isReachable' | 'terminate'>, log: Log, patience: number) {
    this.#db = db;
    this.#temporal = temporal;
    this.#log = log;
    this.#patience = patience;
  }

  /** One round, every few seconds however often it is called. */
  async pass(): Promise<void> {
    if (Date.now() < this.#nextAt) return;
    this.#nextAt = Date.now() + PASS_MS;
    const overdue = await listOverdue(this.#db, {
      kinds: Object.keys(kinds), // another release may know more: those are for its processes
      graceSeconds: GRACE_SECONDS * this.#patience,
      queueSeconds: QUEUE_SECONDS * this.#patience,
      callQueueSeconds: CALL_BEGINS_WITHIN_SECONDS,
      limit: BATCH,
    });
    const isTemporalThere = overdue.length > 0 && (await this.#temporal.isReachable());
    for (const job of overdue)
      try {
        if ((await this.#giveUp(job)) && isTemporalThere) await this.#tidy(job);
      } catch (error) {
        if (isUnavailable(error)) throw error;
        // One that cannot be settled holds up neither the others nor the dispatcher.
        this.#log.error({ jobId: job.id, err: String(error) }, 'could not settle an overdue job');
      }
    for (const agentId of await rescueStranded(this.#db))
      this.#log.error({ agentId }, 'an agent waited for a job that is not there');
  }

  async #giveUp(job: Job): Promise<boolean> {
    const { id: jobId, kind } = job;
    const settled = await this.#db.transaction((trx) =>
      isCall(kind) ? settleAbandonedCall(trx, job) : settleJob(trx, jobId, outcomeOf(job)),
    );
    if (settled) this.#log.error({ jobId, kind }, 'settled a job that is long past its deadline');
    return settled;
  }

  /** Nobody should find the workflow open for ever; where this fails it ends itself, should a worker ever wake it. */
  async #tidy(job: Job): Promise<void> {
    await this.#temporal.terminate(job, 'The job was settled: long past its deadline.').catch(() => undefined);
  }
}
