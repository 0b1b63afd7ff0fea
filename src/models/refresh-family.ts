import type { Transaction } from 'objection';
import { endFamilyTree } from './family-tree.js';
import type { KeyRing } from './key-ring.js';
import { derivedToken, hashToken, type TokenKind } from './opaque-token.js';
import {
  expiries,
  type FamilyKind,
  type FamilyTokens,
  lives,
  revokeFamilies,
  TokenFamily,
  tokensOf,
} from './token-family.js';

/** The predecessor's access token outlives a rotation by this much at most, so that calls under way do not fail. */
const OVERLAP = '60 seconds';

/** The successor is derived from the present key: an older one is not needed for it. */
const rotate = async (trx: Transaction, keys: KeyRing, family: TokenFamily): Promise<FamilyTokens> => {
  const { id, generation } = family;
  const life = lives[family.kind];
  await trx('spent_refresh_tokens').insert({ hash: family.refreshHash, familyId: id, generation });
  const token = (kind: TokenKind) => hashToken(derivedToken(keys, keys.currentId, kind, id, generation + 1));
  await trx('token_families')
    .update({
      generation: generation + 1,
      keyId: keys.currentId,
      previousAccessHash: trx.ref('access_hash'),
      previousAccessExpiresAt: trx.raw(`least(access_expires_at, now() + interval '${OVERLAP}')`),
      accessHash: token(life.access),
      refreshHash: life.refresh ? token(life.refresh) : null,
      rotatedAt: trx.fn.now(),
      usedAt: null,
      lastUsedAt: trx.fn.now(),
      ...expiries(trx, life),
    })
    .where({ id });
  return tokensOf(keys, await TokenFamily.query(trx).findById(id).throwIfNotFound());
};

/** `ended`: this very call found the reuse and ended the family, and what it had let in. */
export type Refreshed = FamilyTokens | { ended: TokenFamily[] } | 'unknown' | 'expired' | 'reused';

interface Standing {
  isExpired: boolean;
  inGrace: boolean;
}

/** How the family stands by the database's clock. */
const standingOf = async (trx: Transaction, { id, kind }: TokenFamily): Promise<Standing> => {
  const row = await trx('token_families')
    .where({ id })
    .first<Standing>(
      trx.raw('(expires_at <= now() or refresh_expires_at <= now()) as "isExpired"'),
      trx.raw(`coalesce(rotated_at > now() - interval '${lives[kind].graceFor}', false) as "inGrace"`),
    );
  return row;
};

/**
 * Trades a refresh token for the next pair. Of many at once one rotates and all get its answer. A spent token ends the family and
 * all of its tokens, save for the direct predecessor within its grace while nothing of its successor was used: a lost answer.
 */
export const refreshFamily = async (
  trx: Transaction,
  keys: KeyRing,
  refreshToken: string,
  kinds: readonly FamilyKind[],
): Promise<Refreshed> => {
  const hash = hashToken(refreshToken);
  const found = await trx('token_families')
    .select('id')
    .where({ refreshHash: hash })
    .union(trx('spent_refresh_tokens').select({ id: 'familyId' }).where({ hash }))
    .first<{ id: string } | undefined>();
  if (!found) return 'unknown';
  // Decided under the family's lock: whoever comes second sees what the first one did.
  const family = await TokenFamily.query(trx)
    .findById(found.id)
    .whereIn('kind', [...kinds])
    .forUpdate();
  if (!family) return 'unknown';
  const { isExpired, inGrace } = await standingOf(trx, family);
  const isRevoked = family.revokedAt !== null;
  const dead = isRevoked ? (family.revokeReason === 'reuse' ? 'reused' : 'unknown') : 'expired';
  if (family.refreshHash?.equals(hash)) return isRevoked || isExpired ? dead : rotate(trx, keys, family);
  const spent = await trx('spent_refresh_tokens').where({ hash }).first<{ generation: number }>('generation');
  const isLostAnswer = spent.generation === family.generation - 1 && family.usedAt === null && inGrace;
  if (isLostAnswer && !isRevoked && !isExpired) return keys.has(family.keyId) ? tokensOf(keys, family) : 'unknown'; // without its key the answer cannot be told again
  // Also of a family that has ended: a thief may have logged out, and what they let in before that lives on.
  if (isLostAnswer) return dead;
  const ended = (await endFamilyTree(trx, family.id, 'reuse')).filter(({ id }) => !isExpired || id !== family.id);
  return ended.length > 0 ? { ended } : dead;
};

/** Ends the family of a refresh token, of whatever generation. Returns it when this call ended it. */
export const endFamilyOf = async (
  trx: Transaction,
  refreshToken: string,
  kinds: readonly FamilyKind[],
): Promise<TokenFamily | undefined> => {
  const hash = hashToken(refreshToken);
  const family = await TokenFamily.query(trx)
    .whereIn('kind', [...kinds])
    .whereNull('revokedAt')
    .where((either) => {
      const spent = trx('spent_refresh_tokens').select('familyId').where({ hash });
      void either.where({ refreshHash: hash }).orWhereIn('id', spent as never); // Objection takes Knex's queries
    })
    .first();
  if (!family) return undefined;
  const ended = await revokeFamilies(trx, { id: family.id }, 'logout');
  return ended.length > 0 ? family : undefined;
};
