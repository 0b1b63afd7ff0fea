import type { Transaction } from 'objection';
import { type RevokeReason, TokenFamily } from './token-family.js';

/**
 * Ends a family and all that its tokens have let in, and theirs: what a thief made of a stolen token goes with it. Returns those
 * that were alive, the family itself first.
 */
export const endFamilyTree = async (trx: Transaction, id: string, reason: RevokeReason): Promise<TokenFamily[]> => {
  const ended: TokenFamily[] = [];
  // Again until nothing is found: a family that was being opened meanwhile held its opener's row, and is seen the next time round.
  for (;;) {
    const { rows } = await trx.raw<{ rows: { id: string }[] }>(
      `with recursive tree as (
         select id from token_families where id = :id
         union select f.id from token_families f join tree on f.opened_by = tree.id)
       update token_families set revoked_at = now(), revoke_reason = :reason
        where id in (select id from tree) and revoked_at is null
       returning id`,
      { id, reason },
    );
    if (rows.length === 0) break;
    ended.push(...(await TokenFamily.query(trx).findByIds(rows.map((row) => row.id))));
  }
  return ended.toSorted((a, b) => Number(b.id === id) - Number(a.id === id));
};

/** Whether the session that lets another in is alive, and stays so until the transaction has ended. No session = the identity provider's bearer. */
export const holdOpener = async (trx: Transaction, sessionId: string | null): Promise<boolean> =>
  sessionId === null ||
  (await TokenFamily.query(trx).findById(sessionId).whereNull('revokedAt').forShare()) !== undefined;
