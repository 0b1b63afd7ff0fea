import { ApiError } from '../../contract/errors.js';
import { findOwnJob, type Job } from '../../models/job.js';
import { presentJob } from '../../presenters/job.js';
import type { JobEvent, Operation } from '../operation.js';

type Watch = (jobId: string, listener: (job: Job) => void) => () => void;

/** The job at each version beyond the last one seen, until it has ended or the reader has left. A slow reader gets the newest, not all. */
async function* changesOf(watch: Watch, jobId: string, after: number, signal: AbortSignal): AsyncGenerator<JobEvent> {
  let newest: Job | undefined;
  let wake = () => {};
  const unwatch = watch(jobId, (job) => {
    newest = job;
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  try {
    for (let seen = after; !signal.aborted;) {
      // A version that never was: begin with what there is.
      if (newest && newest.version < seen) seen = 0;
      if (newest && newest.version > seen) {
        seen = newest.version;
        yield { id: newest.version, job: presentJob(newest) };
      }
      if (newest?.isFinished) return;
      if (newest === undefined || newest.version <= seen)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    unwatch();
  }
}

export const events: Operation<'jobs.events'> = async ({ db, jobs }, { caller, params, lastEventId, signal }) => {
  if (!(await findOwnJob(db, caller.userId, params.id))) throw new ApiError('not_found', 'There is no such job.');
  const watch: Watch = (id, listener) => jobs.watch.watch(id, listener);
  return {
    status: 200,
    events: changesOf(watch, params.id, lastEventId, AbortSignal.any([signal, jobs.watch.leaving])),
  };
};
