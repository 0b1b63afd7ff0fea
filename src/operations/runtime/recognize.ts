import type { Db } from '../../db/knex.js';
import { isToken } from '../../models/opaque-token.js';
import { findLiveRuntime } from '../../models/runtime-session.js';
import type { RuntimeCaller } from '../operation.js';
import { invalidToken, requireUse } from '../require-use.js';

/** The runtime behind an access token; read per request, so a revoked token, or one of an agent that is gone, is dead at once. */
export const recognizeRuntime = async (db: Db, accessToken: string): Promise<RuntimeCaller> => {
  if (!isToken('runtimeAccess', accessToken)) throw invalidToken();
  const { runtimeId, userId, familyId } = await requireUse(db, accessToken);
  const runtime = runtimeId === null ? undefined : await findLiveRuntime(db, runtimeId);
  if (!runtime || runtime.status !== 'active') throw invalidToken();
  return { type: 'runtime', runtimeId: runtime.id, agentId: runtime.agentId, userId, sessionId: familyId };
};
