import type { Transaction } from 'objection';
import { writeAudit } from '../models/audit-event.js';
import type { KeyRing } from '../models/key-ring.js';
import { refreshFamily, type Refreshed } from '../models/refresh-family.js';
import type { FamilyKind } from '../models/token-family.js';

/** A refresh, and the line in the audit trail when it ended the family. Committed either way: the end must stand though the caller gets an error. */
export const refreshAudited = async (
  trx: Transaction,
  keys: KeyRing,
  refreshToken: string,
  kinds: readonly FamilyKind[],
  requestId: string,
): Promise<Refreshed> => {
  const outcome = await refreshFamily(trx, keys, refreshToken, kinds);
  if (typeof outcome === 'object' && 'ended' in outcome)
    for (const { id, userId } of outcome.ended)
      await writeAudit(trx, {
        actorType: 'service',
        actorId: 'token-families',
        userId,
        action: 'session.ended_by_reuse',
        subjectType: 'session',
        subjectId: id,
        requestId,
      });
  return outcome;
};
