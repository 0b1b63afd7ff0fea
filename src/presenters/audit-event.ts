import type { AuditEvent as AuditResource } from '../contract/shapes/audit-event.js';
import type { AuditEvent } from '../models/audit-event.js';
import { toTimestamp } from './timestamp.js';

export const presentAuditEvent = (event: AuditEvent): AuditResource => ({
  id: event.id,
  at: toTimestamp(event.at),
  actor: { type: event.actorType, id: event.actorId, sessionId: event.sessionId },
  action: event.action,
  subject: { type: event.subjectType, id: event.subjectId },
  ...(event.before ? { before: event.before } : {}),
  ...(event.after ? { after: event.after } : {}),
  ...(event.reason === null ? {} : { reason: event.reason }),
  requestId: event.requestId,
});
