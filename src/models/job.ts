import { Model, type Transaction } from 'objection';
import type { ErrorCode } from '../contract/errors.js';
import type { AgentStatus, DesiredStatus } from '../contract/shapes/agent.js';
import type { JobError, JobKind, JobStatus, JobStep, Requester } from '../contract/shapes/job.js';
import type { Db } from '../db/knex.js';

export class Job extends Model {
  static override tableName = 'jobs';
  static override jsonAttributes = ['steps', 'params', 'agentBefore', 'result', 'error'];
  declare id: string;
  declare kind: JobKind;
  declare userId: string;
  declare agentId: string | null;
  declare subjectType: string;
  declare subjectId: string;
  declare status: JobStatus;
  declare step: string | null;
  declare steps: JobStep[];
  declare params: Record<string, unknown>;
  declare agentBefore: { status: AgentStatus; desiredStatus: DesiredStatus } | null;
  declare result: Record<string, unknown> | null;
  declare error: JobError | null;
  declare lockKey: string | null;
  declare cancelable: boolean;
  declare cancelRequestedAt: Date | null;
  declare cancelCode: Extract<ErrorCode, 'canceled' | 'superseded'> | null;
  declare cancelDeliveredAt: Date | null;
  declare requestedByType: Requester['type'];
  declare requestedById: string;
  declare workflowId: string;
  declare dispatchedAt: Date | null;
  declare lookedAt: Date | null;
  declare version: number;
  declare createdAt: Date;
  declare updatedAt: Date;
  declare startedAt: Date | null;
  declare finishedAt: Date | null;
  declare deadlineAt: Date | null;

  get isFinished(): boolean {
    return this.finishedAt !== null;
  }
}

/** Unfinished jobs of one kind on one agent, those with these parameters if any are named. */
export const findUnfinished = async (
  trx: Transaction,
  agentId: string,
  kind: JobKind,
  params: Record<string, unknown> = {},
): Promise<Job[]> =>
  Job.query(trx)
    .where({ agentId, kind })
    .whereNull('finishedAt')
    .whereRaw('params @> ?', [JSON.stringify(params)]);

/** The unfinished jobs that hold any of these locks. */
export const findLockHolders = async (db: Db | Transaction, lockKeys: string[]): Promise<Job[]> =>
  Job.query(db).whereIn('lockKey', lockKeys).whereNull('finishedAt');

export const findOwnJob = async (db: Db | Transaction, userId: string, id: string): Promise<Job | undefined> =>
  Job.query(db).findById(id).where({ userId });

export interface JobFilter {
  agentId?: string | undefined;
  kind?: JobKind | undefined;
  status?: JobStatus | undefined;
}

/** The user's jobs, newest first, `limit` of those older than `before`. */
export const listOwnJobs = (
  db: Db,
  userId: string,
  filter: JobFilter,
  limit: number,
  before?: string,
): Promise<Job[]> =>
  Job.query(db)
    .where({ userId })
    .modify((query) => {
      if (filter.agentId !== undefined) query.where({ agentId: filter.agentId });
      if (filter.kind !== undefined) query.where({ kind: filter.kind });
      if (filter.status !== undefined) query.where({ status: filter.status });
      if (before !== undefined) query.where('id', '<', before);
    })
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
