import type { NewAuditEvent } from '../models/audit-event.js';
import type { Caller } from './operation.js';

type Actor = Pick<NewAuditEvent, 'actorType' | 'actorId' | 'sessionId' | 'userId' | 'requestId'>;

/** Who is written down as having done it, and on whose account. */
export const actorOf = ({ caller, requestId }: { caller: Caller; requestId: string }): Actor =>
  caller.type === 'user'
    ? {
        actorType: caller.isOperator ? 'operator' : 'user',
        actorId: caller.userId,
        sessionId: caller.sessionId,
        userId: caller.userId,
        requestId,
      }
    : {
        actorType: 'runtime',
        actorId: caller.runtimeId,
        sessionId: caller.sessionId,
        userId: caller.userId,
        requestId,
      };
