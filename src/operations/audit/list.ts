import { listAuditEvents } from '../../models/audit-event.js';
import { presentAuditEvent } from '../../presenters/audit-event.js';
import { DEFAULT_LIMIT, fromCursor, toPage } from '../cursor.js';
import type { Operation } from '../operation.js';

export const list: Operation<'audit.list'> = async ({ db }, { caller, query }) => {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const filter = {
    ...(caller.isOperator ? {} : { userId: caller.userId }),
    subjectId: query.subject,
    action: query.action,
  };
  const events = await listAuditEvents(db, filter, limit + 1, fromCursor(query.cursor));
  const { rows, nextCursor } = toPage(events, limit);
  return { status: 200, body: { events: rows.map(presentAuditEvent), nextCursor } };
};
