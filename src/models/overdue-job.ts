import type { Db } from '../db/knex.js';
import { Job } from './job.js';

export interface OverdueQuery {
  kinds: string[];
  graceSeconds: number;
  queueSeconds: number;
  limit: number;
}

/**
 * Jobs of these kinds that nobody works on any more: past their deadline by more than `graceSeconds`, in which their undoing should have ended;
 * or not begun `queueSeconds` after they were asked for. A deletion waits for its worker however long: what it removes must go.
 */
export const listOverdue = (db: Db, { kinds, graceSeconds, queueSeconds, limit }: OverdueQuery): Promise<Job[]> =>
  Job.query(db)
    .whereNull('finishedAt')
    .whereIn('kind', kinds)
    .whereRaw(
      `(deadline_at < now() - make_interval(secs => ?)
        or status = 'queued' and kind <> 'agent.delete' and created_at < now() - make_interval(secs => ?))`,
      [graceSeconds, queueSeconds],
    )
    .orderBy('createdAt')
    .limit(limit)
    .execute();
