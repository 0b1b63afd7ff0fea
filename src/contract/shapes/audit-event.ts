import { z } from 'zod';
import { Id, Timestamp } from '../common.js';

const Facts = z.record(z.string(), z.unknown());

/** Who did what to what, written in the transaction of the change itself; never altered. */
export const AuditEvent = z
  .strictObject({
    id: Id('auditEvent'),
    at: Timestamp,
    actor: z.strictObject({
      type: z.enum(['user', 'operator', 'runtime', 'service']),
      id: z.string(),
      sessionId: z.string().nullable(),
    }),
    action: z.string(),
    subject: z.strictObject({ type: z.string(), id: z.string() }),
    before: Facts.optional(),
    after: Facts.optional(),
    reason: z.string().optional(),
    requestId: z.string().nullable(),
  })
  .meta({ id: 'AuditEvent' });
export type AuditEvent = z.infer<typeof AuditEvent>;
