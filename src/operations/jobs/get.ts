import { ApiError } from '../../contract/errors.js';
import { allows } from '../../rules/scopes.js';
import { findOwnJob } from '../../models/job.js';
import type { Operation } from '../operation.js';

/** What a machine said is a secret of its owner, which reading alone does not entitle to. */
const secret = { scope: 'agents', effect: 'read', secretOutput: true } as const;

/** Rendered after the wait that the caller may have asked for. */
export const get: Operation<'jobs.get'> = async ({ db }, { caller, params }) => {
  if (!(await findOwnJob(db, caller.userId, params.id))) throw new ApiError('not_found', 'There is no such job.');
  const view = allows(caller.scopes, secret) ? 'jobWithAnswer' : 'job';
  return { status: 200, view, ids: { jobId: params.id } };
};
