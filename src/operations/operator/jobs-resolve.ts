import { presentJob } from '../../presenters/job.js';
import type { Operation } from '../operation.js';
import { takeAttended } from './attended-job.js';

export const jobsResolve: Operation<'operator.jobs.resolve'> = async ({ db }, call) => {
  const job = await db.transaction((trx) => takeAttended(trx, call, 'job.resolved'));
  return { status: 200, body: { ok: true, job: presentJob(job) } };
};
