import { Model, type Transaction } from 'objection';
import type { SessionScope } from '../contract/shapes/session.js';
import type { Db } from '../db/knex.js';
import type { KeyRing } from './key-ring.js';
import { newId } from './new-id.js';
import { derivedToken, hashToken, type TokenKind } from './opaque-token.js';

export type FamilyKind = 'cli' | 'mcp' | 'token' | 'runtime';
export type RevokeReason = 'logout' | 'revoked' | 'reuse' | 'replaced' | 'deleted';

/** All tokens that descend from one login, one named token or one bootstrap exchange. */
export class TokenFamily extends Model {
  static override tableName = 'token_families';
  declare id: string;
  declare kind: FamilyKind;
  declare userId: string;
  declare runtimeId: string | null;
  declare name: string;
  declare scopes: SessionScope[];
  declare address: string | null;
  declare keyId: string;
  declare generation: number;
  declare accessExpiresAt: Date;
  declare refreshHash: Buffer | null;
  declare refreshExpiresAt: Date | null;
  declare rotatedAt: Date | null;
  declare usedAt: Date | null;
  declare lastUsedAt: Date | null;
  declare expiresAt: Date;
  declare revokedAt: Date | null;
  declare revokeReason: RevokeReason | null;
  declare openedBy: string | null;
  declare createdAt: Date;
}

export interface FamilyLife {
  access: TokenKind;
  /** Absent = the access token is all there is. */
  refresh?: TokenKind;
  accessFor: string;
  /** Sliding: counted anew with each refresh. */
  refreshFor: string;
  /** How long the direct predecessor may come again while nothing of its successor was used. */
  graceFor: string;
}

const person = { access: 'userAccess', refresh: 'userRefresh', accessFor: '1 hour', refreshFor: '30 days' } as const;

/** Lifetimes by kind, in PostgreSQL's words: the database's clock decides. A machine may die before it saved, hence its hour of grace. */
export const lives: Record<FamilyKind, FamilyLife> = {
  cli: { ...person, graceFor: '60 seconds' },
  mcp: { ...person, graceFor: '60 seconds' },
  token: { access: 'namedToken', accessFor: '366 days', refreshFor: '0', graceFor: '0' },
  runtime: {
    access: 'runtimeAccess',
    refresh: 'runtimeRefresh',
    accessFor: '1 hour',
    refreshFor: '30 days',
    graceFor: '1 hour',
  },
};

export interface NewFamily {
  kind: FamilyKind;
  userId: string;
  runtimeId?: string;
  name?: string;
  scopes: SessionScope[];
  address?: string | null;
  /** The session that let it in. */
  openedBy?: string | null;
  /** The absolute end, as an interval from now. */
  lastsFor: string;
}

export interface FamilyTokens {
  family: TokenFamily;
  accessToken: string;
  /** Empty for named tokens. */
  refreshToken: string;
}

/** The tokens of the family's present generation; derived, so that they can be told again. */
export const tokensOf = (keys: KeyRing, family: TokenFamily): FamilyTokens => {
  const { access, refresh } = lives[family.kind];
  const token = (kind: TokenKind) => derivedToken(keys, family.keyId, kind, family.id, family.generation);
  return { family, accessToken: token(access), refreshToken: refresh ? token(refresh) : '' };
};

/** When the tokens of a generation end: by their own life, or with the family. */
export const expiries = (trx: Transaction, { accessFor, refresh, refreshFor }: FamilyLife, lastsFor?: string) => {
  const end = lastsFor === undefined ? 'expires_at' : `now() + interval '${lastsFor}'`;
  return {
    accessExpiresAt: trx.raw(`least(now() + interval '${accessFor}', ${end})`),
    refreshExpiresAt: refresh ? trx.raw(`least(now() + interval '${refreshFor}', ${end})`) : null,
  };
};

/** Opens a family at generation 1. */
export const openFamily = async (trx: Transaction, keys: KeyRing, family: NewFamily): Promise<FamilyTokens> => {
  const id = newId('session');
  const { lastsFor, ...facts } = family;
  const life = lives[family.kind];
  const token = (kind: TokenKind) => hashToken(derivedToken(keys, keys.currentId, kind, id, 1));
  await trx('token_families').insert({
    id,
    ...facts,
    keyId: keys.currentId,
    accessHash: token(life.access),
    refreshHash: life.refresh ? token(life.refresh) : null,
    expiresAt: trx.raw(`now() + interval '${lastsFor}'`),
    ...expiries(trx, life, lastsFor),
  });
  return tokensOf(keys, await TokenFamily.query(trx).findById(id).throwIfNotFound());
};

/** The family as long as nobody used any of its tokens, for so long after it was opened by the database's clock: its pair can be told again. */
export const findUntouchedFamily = (trx: Transaction, id: string, within: string): Promise<TokenFamily | undefined> =>
  TokenFamily.query(trx)
    .findById(id)
    .where({ generation: 1, usedAt: null, revokedAt: null })
    .where('createdAt', '>', trx.raw(`now() - interval '${within}'`))
    .execute();

/** Ends families; every token of theirs is dead from this commit on. Returns the ids of those that were alive. */
export const revokeFamilies = async (
  db: Db | Transaction,
  which: { id: string } | { runtimeId: string } | { userId: string; id: string },
  reason: RevokeReason,
): Promise<string[]> => {
  const rows = await db('token_families')
    .update({ revokedAt: db.fn.now(), revokeReason: reason })
    .where(which)
    .whereNull('revokedAt')
    .returning<{ id: string }[]>('id');
  return rows.map((row) => row.id);
};
