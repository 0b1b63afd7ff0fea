import type { Operation } from '../operation.js';

export const cancel: Operation<'jobs.cancel'> = async ({ db, jobs }, { caller, params }) => {
  const job = await db.transaction((trx) => jobs.requestCancel(trx, caller.userId, params.id));
  jobs.hurryCancel(job);
  return { status: 202, view: 'canceling', ids: { jobId: job.id } };
};
