import { ApiError } from '../../contract/errors.js';
import type { Db } from '../../db/knex.js';
import { findRuntimePrincipal } from '../../models/runtime-session.js';
import type { RuntimeCaller } from '../operation.js';

/** The runtime behind an access token; read per request, so a revoked token is dead at once. */
export const recognizeRuntime = async (db: Db, accessToken: string): Promise<RuntimeCaller> => {
  const principal = await findRuntimePrincipal(db, accessToken);
  if (principal === 'expired') throw new ApiError('token_expired');
  if (!principal) throw new ApiError('unauthenticated', 'The token is not valid here.', { tokenSent: true });
  return { type: 'runtime', ...principal };
};
