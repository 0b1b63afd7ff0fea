import type { Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import { Job } from './job.js';

/** Jobs that wait for an operator, newest first, `limit` of those older than `before`. */
export const listAttention = (db: Db, limit: number, before?: string): Promise<Job[]> =>
  Job.query(db)
    .where({ needsOperator: true })
    .whereNull('attendedAt')
    .modify((query) => before !== undefined && query.where('id', '<', before))
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();

/** Takes a job off the list, once: of two operators at the same time one finds it attended to. */
export const attendTo = async (trx: Transaction, jobId: string): Promise<boolean> => {
  const attended = await trx('jobs')
    .update({ attendedAt: trx.fn.now() })
    .where({ id: jobId, needsOperator: true })
    .whereNull('attendedAt');
  return attended === 1;
};
