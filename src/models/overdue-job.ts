import type { Db } from '../db/knex.js';
import { callKinds } from '../contract/shapes/job.js';
import { Job } from './job.js';

export interface OverdueQuery {
  kinds: string[];
  graceSeconds: number;
  queueSeconds: number;
  /** As queueSeconds, of what only talks to a machine. */
  callQueueSeconds: number;
  limit: number;
}

/**
 * Jobs of these kinds that nobody works on any more: past their deadline by more than `graceSeconds`, in which their undoing should have ended;
 * or not begun `queueSeconds` (`callQueueSeconds`) after they were asked for. A deletion waits for its worker however long: what it removes must go.
 */
export const listOverdue = (db: Db, query: OverdueQuery): Promise<Job[]> =>
  Job.query(db)
    .whereNull('finishedAt')
    .whereIn('kind', query.kinds)
    .whereRaw(
      `(deadline_at < now() - make_interval(secs => ?)
        or status = 'queued' and kind <> 'agent.delete'
          and created_at < now() - make_interval(secs => case when kind = any(?) then ?::float8 else ?::float8 end))`,
      [query.graceSeconds, [...callKinds], query.callQueueSeconds, query.queueSeconds],
    )
    .orderBy('createdAt')
    .limit(query.limit)
    .execute();
