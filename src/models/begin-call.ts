import type { Db } from '../db/knex.js';
import { Job } from './job.js';
import { pendingStep } from './job-step.js';
import { forgetRequest, MachineCall } from './machine-call.js';

/** Later than this after it was asked for nobody expects it any more: it never begins. */
export const CALL_BEGINS_WITHIN_SECONDS = 5 * 60;

export interface Beginning {
  jobId: string;
  /** Names this one execution; the same again, after a commit whose answer was lost, is the same beginning. */
  attempt: string;
  step: string;
  deadlineSeconds: number;
}

/**
 * begun: this attempt may talk to the machine; begun before: another one did, or still does; late: it has not begun and never will;
 * ended: there is nothing to do.
 */
export type Begun = 'begun' | 'begun before' | 'late' | 'ended';

/** queued → running, for one attempt. From this commit on the job cannot be canceled, and is never begun again. */
export const beginCall = (db: Db, { jobId, attempt, step, deadlineSeconds }: Beginning): Promise<Begun> =>
  db.transaction(async (trx) => {
    const job = await Job.query(trx).findById(jobId).forUpdate();
    const call = await MachineCall.query(trx).findById(jobId);
    if (!job || job.isFinished) return 'ended';
    if (job.status === 'running') return call?.begunBy === attempt ? 'begun' : 'begun before';
    if (!call) return 'late';
    const startedAt = new Date().toISOString();
    const begun = await trx('jobs')
      .update({
        status: 'running',
        cancelable: false,
        startedAt: trx.fn.now(),
        deadlineAt: trx.raw('now() + make_interval(secs => ?)', [deadlineSeconds]),
        step,
        steps: JSON.stringify([{ ...pendingStep(step), status: 'running', attempts: 1, startedAt }]),
      })
      .where({ id: jobId })
      .whereRaw('created_at > now() - make_interval(secs => ?)', [CALL_BEGINS_WITHIN_SECONDS]);
    if (begun === 0) return 'late';
    await trx('machine_calls').update({ begunBy: attempt }).where({ jobId });
    await forgetRequest(trx, jobId);
    return 'begun';
  });

/** Hands a call that only reads to another attempt, the one before having come to nothing. */
export const takeOverCall = async (db: Db, jobId: string, attempt: string): Promise<void> => {
  await db('machine_calls').update({ begunBy: attempt }).where({ jobId });
};
