import { ApiError } from '../contract/errors.js';
import type { Db } from '../db/knex.js';
import { type FamilyUse, useAccessToken } from '../models/use-access-token.js';

export const invalidToken = (): ApiError =>
  new ApiError('unauthenticated', 'The token is not valid here.', { tokenSent: true });

/** The family that an access token of ours speaks for. Asked anew each time: a revoked token is dead at once. */
export const requireUse = async (db: Db, token: string): Promise<FamilyUse> => {
  const use = await useAccessToken(db, token);
  if (!use) throw invalidToken();
  if (!use.isLive) throw new ApiError('token_expired', 'The access token has expired.');
  return use;
};
