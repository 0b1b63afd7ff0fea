import type { SessionScope } from '../contract/shapes/session.js';
import type { Db } from '../db/knex.js';
import { hashToken } from './opaque-token.js';
import type { FamilyKind } from './token-family.js';

export interface FamilyUse {
  familyId: string;
  kind: FamilyKind;
  userId: string;
  runtimeId: string | null;
  scopes: SessionScope[];
  isLive: boolean;
  isPrevious: boolean;
  isUsed: boolean;
  isStale: boolean;
}

/** The family an access token speaks for, read anew each time so that a revoked one is dead at once. The first use of a generation is noted. */
export const useAccessToken = async (db: Db, accessToken: string): Promise<FamilyUse | undefined> => {
  const hash = hashToken(accessToken);
  const { rows } = await db.raw<{ rows: FamilyUse[] }>(
    `select id as "familyId", kind, user_id as "userId", runtime_id as "runtimeId", scopes,
            access_hash <> :hash as "isPrevious",
            expires_at > now() and now() < case when access_hash = :hash then access_expires_at
              else previous_access_expires_at end as "isLive",
            used_at is not null as "isUsed",
            coalesce(last_used_at < now() - interval '1 minute', true) as "isStale"
       from token_families
      where (access_hash = :hash or previous_access_hash = :hash) and revoked_at is null`,
    { hash },
  );
  const use = rows[0];
  if (use?.isLive && !use.isPrevious && (!use.isUsed || use.isStale))
    await db('token_families')
      .update({ usedAt: db.raw('coalesce(used_at, now())'), lastUsedAt: db.fn.now() })
      .where({ id: use.familyId, accessHash: hash });
  return use;
};
