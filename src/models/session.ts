import type { Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import { TokenFamily } from './token-family.js';

/** The user's sessions that are alive, newest first, `limit` of those older than `before`. Runtimes are no sessions. */
export const listOwnSessions = (db: Db, userId: string, limit: number, before?: string): Promise<TokenFamily[]> =>
  TokenFamily.query(db)
    .where({ userId })
    .whereNot({ kind: 'runtime' })
    .whereNull('revokedAt')
    .where('expiresAt', '>', db.fn.now())
    .where((alive) => void alive.whereNull('refreshExpiresAt').orWhere('refreshExpiresAt', '>', db.fn.now()))
    .modify((query) => {
      if (before !== undefined) query.where('id', '<', before);
    })
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();

export const findOwnSession = async (
  db: Db | Transaction,
  userId: string,
  id: string,
): Promise<TokenFamily | undefined> =>
  TokenFamily.query(db).findById(id).where({ userId }).whereNot({ kind: 'runtime' });

/** How many named tokens of the user are alive; two who make one at once count one after the other. */
export const countOwnTokens = async (trx: Transaction, userId: string): Promise<number> => {
  await trx('users').where({ id: userId }).forUpdate().first('id');
  return TokenFamily.query(trx)
    .where({ userId, kind: 'token', revokedAt: null })
    .where('expiresAt', '>', trx.fn.now())
    .resultSize();
};
