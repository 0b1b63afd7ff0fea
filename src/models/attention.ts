import type { Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import { Job } from './job.js';

/** As the index jobs_for_operators says it. */
const NEEDS_OPERATOR = `(error ->> 'needsOperator') = 'true'`;

/** A job of the same agent that moved its machine and succeeded since: its owner has mended what the job left behind. */
const MENDED = `later.agent_id = jobs.agent_id and later.id > jobs.id and later.status = 'succeeded'
  and (later.kind = 'agent.delete' or later.kind in ('agent.start', 'agent.provision', 'agent.stop') and jobs.kind <> 'agent.delete')`;

/** Jobs that wait for an operator, newest first, `limit` of those older than `before`. */
export const listAttention = (db: Db, limit: number, before?: string): Promise<Job[]> =>
  Job.query(db)
    .whereRaw(NEEDS_OPERATOR)
    .whereNull('attendedAt')
    .whereNotExists(db('jobs as later').whereRaw(MENDED))
    .modify((query) => {
      if (before !== undefined) query.where('id', '<', before);
    })
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();

/** Takes a job off the list, once: of two operators at the same time one finds it attended to. */
export const attendTo = async (trx: Transaction, jobId: string): Promise<boolean> => {
  const attended = await trx('jobs')
    .update({ attendedAt: trx.fn.now() })
    .where({ id: jobId })
    .whereRaw(NEEDS_OPERATOR)
    .whereNull('attendedAt');
  return attended === 1;
};
