import { Model, type Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import { newId } from './new-id.js';

/** One line of the audit trail; the database refuses to change or delete it. */
export class AuditEvent extends Model {
  static override tableName = 'audit_events';
  static override jsonAttributes = ['before', 'after'];
  declare id: string;
  declare at: Date;
  declare userId: string | null;
  declare actorType: 'user' | 'operator' | 'runtime' | 'service';
  declare actorId: string;
  declare sessionId: string | null;
  declare action: string;
  declare subjectType: string;
  declare subjectId: string;
  declare before: Record<string, unknown> | null;
  declare after: Record<string, unknown> | null;
  declare reason: string | null;
  declare requestId: string | null;
}

export type NewAuditEvent = Pick<AuditEvent, 'actorType' | 'actorId' | 'action' | 'subjectType' | 'subjectId'> &
  Partial<Pick<AuditEvent, 'userId' | 'sessionId' | 'before' | 'after' | 'reason' | 'requestId'>>;

/** Writes the event in the transaction of the change it tells of: both or neither. Facts in it are ids and settings, never a secret. */
export const writeAudit = async (trx: Transaction, event: NewAuditEvent): Promise<void> => {
  await AuditEvent.query(trx).insert({ id: newId('auditEvent'), ...event });
};

export interface AuditFilter {
  /** Absent = everyone's. */
  userId?: string;
  subjectId?: string | undefined;
  action?: string | undefined;
}

/** Newest first, `limit` of those older than `before`. */
export const listAuditEvents = (db: Db, filter: AuditFilter, limit: number, before?: string): Promise<AuditEvent[]> =>
  AuditEvent.query(db)
    .modify((query) => {
      if (filter.userId !== undefined) query.where({ userId: filter.userId });
      if (filter.subjectId !== undefined) query.where({ subjectId: filter.subjectId });
      if (filter.action !== undefined) query.where({ action: filter.action });
      if (before !== undefined) query.whereRaw('(at, id) < (select at, id from audit_events where id = ?)', [before]);
    })
    // By the database's clock: the ids come from the clocks of several processes.
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit)
    .execute();
