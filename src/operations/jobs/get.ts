import { ApiError } from '../../contract/errors.js';
import { findOwnJob } from '../../models/job.js';
import type { Operation } from '../operation.js';

/** Rendered after the wait that the caller may have asked for. */
export const get: Operation<'jobs.get'> = async ({ db }, { caller, params }) => {
  if (!(await findOwnJob(db, caller.userId, params.id))) throw new ApiError('not_found', 'There is no such job.');
  return { status: 200, view: 'job', ids: { jobId: params.id } };
};
