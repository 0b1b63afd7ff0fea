import type { Db } from '../db/knex.js';
import { writeAudit } from '../models/audit-event.js';
import { endFamilyOf } from '../models/refresh-family.js';
import type { FamilyKind } from '../models/token-family.js';

/** Ends the family of a refresh token. Ended before, or never known, is success: nothing is told about which. */
export const endSession = async (
  db: Db,
  refreshToken: string,
  kinds: readonly FamilyKind[],
  requestId: string,
): Promise<void> =>
  db.transaction(async (trx) => {
    const family = await endFamilyOf(trx, refreshToken, kinds);
    if (!family) return;
    await writeAudit(trx, {
      actorType: family.runtimeId === null ? 'user' : 'runtime',
      actorId: family.runtimeId ?? family.userId,
      sessionId: family.id,
      userId: family.userId,
      action: 'session.ended',
      subjectType: 'session',
      subjectId: family.id,
      requestId,
    });
  });
