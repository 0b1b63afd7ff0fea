import type { Transaction } from 'objection';
import { isCall } from '../contract/shapes/job.js';
import type { Db } from '../db/knex.js';
import { Job } from './job.js';
import type { KeyRing } from './key-ring.js';
import { keepAnswer, MachineCall } from './machine-call.js';
import { type Outcome, settleJob } from './settle-job.js';

export interface Heard {
  jobId: string;
  attempt: string;
  /** What everyone who may see the job may see. */
  result: Record<string, unknown>;
  /** What only its owner may, for a while. */
  answer: Record<string, unknown>;
}

/** Ends a call that the machine has answered. Returns false, and keeps nothing, when it was ended before or is another attempt's by now. */
export const answerCall = (db: Db, keys: KeyRing, { jobId, attempt, result, answer }: Heard): Promise<boolean> =>
  db.transaction(async (trx) => {
    const { kind, isFinished } = await Job.query(trx).findById(jobId).forUpdate().throwIfNotFound();
    const call = await MachineCall.query(trx).findById(jobId);
    const isAnothers = call !== undefined && call.begunBy !== attempt;
    if (isFinished || !isCall(kind) || isAnothers) return false;
    await keepAnswer(trx, keys, { jobId, kind, attempt, answer });
    return settleJob(trx, jobId, { status: 'succeeded', result });
  });

const mayHaveRun = {
  code: 'outcome_unknown',
  message: 'It was begun, and nobody can say what became of it. It is not run again.',
  retryable: false,
};
const hasNotRun = { code: 'unavailable', message: 'It was not begun, and has not run.', retryable: true };
const cameToNothing = { code: 'unavailable', message: 'It came to nothing.', retryable: true };

/** What a broken call means. A command that has begun is not canceled any more; what has not begun is known not to have run. */
const verdict = ({ kind, status }: Pick<Job, 'kind' | 'status'>, outcome: Outcome): Outcome => {
  const isVague = outcome.error?.code === 'outcome_unknown';
  const saysNothing = isVague || outcome.status === 'canceled' || outcome.error?.code === 'internal';
  const isUnknown = kind === 'agent.command' && status === 'running' && saysNothing;
  if (!isVague && !isUnknown) return outcome;
  const error = isUnknown ? mayHaveRun : status === 'queued' ? hasNotRun : cameToNothing;
  return { status: 'failed', error: { ...error, needsOperator: false } };
};

/** Ends a call of which its workflow, or whoever found that gone, knows no more than this. */
export const settleBrokenCall = async (trx: Transaction, jobId: string, outcome: Outcome): Promise<boolean> =>
  settleJob(trx, jobId, verdict(await Job.query(trx).findById(jobId).forUpdate().throwIfNotFound(), outcome));

/**
 * Ends a call that nobody works on any more. Unlike at a deadline that its workflow saw pass, nobody ended what the machine may be
 * doing. Returns false when the call has begun or ended since it was looked at.
 */
export const settleAbandonedCall = async (trx: Transaction, seen: Pick<Job, 'id' | 'status'>): Promise<boolean> => {
  const { status } = await Job.query(trx).findById(seen.id).forUpdate().throwIfNotFound();
  if (status !== seen.status) return false;
  const error = { code: 'outcome_unknown', message: '', retryable: true, needsOperator: false };
  return settleBrokenCall(trx, seen.id, { status: 'failed', error });
};
