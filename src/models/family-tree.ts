import type { Transaction } from 'objection';
import { type RevokeReason, TokenFamily } from './token-family.js';

/** A family and all that it let in, however far down, each locked. Dead ones too: what they let in may be alive. */
const lockTree = async (trx: Transaction, id: string): Promise<string[]> => {
  const { rows } = await trx.raw<{ rows: { id: string }[] }>(
    `with recursive tree as (
       select id from token_families where id = :id
       union select f.id from token_families f join tree on f.opened_by = tree.id)
     select id from token_families where id in (select id from tree) order by id for update`,
    { id },
  );
  return rows.map((row) => row.id);
};

/**
 * Ends a family and all that its tokens have let in, and theirs: what a thief made of a stolen token goes with it. Returns those that
 * were alive, the family itself first. Looked at until a look finds no more than is locked: one that was being opened meanwhile held
 * its opener's row, and nothing more is opened under a locked one.
 */
export const endFamilyTree = async (trx: Transaction, id: string, reason: RevokeReason): Promise<TokenFamily[]> => {
  let tree = await lockTree(trx, id);
  for (;;) {
    const again = await lockTree(trx, id);
    if (again.length === tree.length) break;
    tree = again;
  }
  const { rows } = await trx.raw<{ rows: { id: string }[] }>(
    `update token_families set revoked_at = now(), revoke_reason = ? where id = any(?) and revoked_at is null returning id`,
    [reason, tree],
  );
  const ended = await TokenFamily.query(trx).findByIds(rows.map((row) => row.id));
  return ended.toSorted((a, b) => Number(b.id === id) - Number(a.id === id));
};

/** Whether the session that lets another in is alive, and stays so until the transaction has ended. No session = the identity provider's bearer. */
export const holdOpener = async (trx: Transaction, sessionId: string | null): Promise<boolean> =>
  sessionId === null ||
  (await TokenFamily.query(trx).findById(sessionId).whereNull('revokedAt').forShare()) !== undefined;
