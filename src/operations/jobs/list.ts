import { listOwnJobs } from '../../models/job.js';
import { presentJob } from '../../presenters/job.js';
import { DEFAULT_LIMIT, fromCursor, toPage } from '../cursor.js';
import type { Operation } from '../operation.js';

export const list: Operation<'jobs.list'> = async ({ db }, { caller, query }) => {
  const { limit = DEFAULT_LIMIT, cursor, ...filter } = query;
  const jobs = await listOwnJobs(db, caller.userId, filter, limit + 1, fromCursor(cursor));
  const { rows, nextCursor } = toPage(jobs, limit);
  return { status: 200, body: { jobs: rows.map(presentJob), nextCursor } };
};
