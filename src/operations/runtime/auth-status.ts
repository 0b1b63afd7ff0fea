import { RuntimeIdentity } from '../../models/runtime-identity.js';
import { TokenFamily } from '../../models/token-family.js';
import { presentRuntimeIdentity } from '../../presenters/runtime.js';
import { toTimestamp } from '../../presenters/timestamp.js';
import type { Operation } from '../operation.js';

export const authStatus: Operation<'runtime.auth.status'> = async ({ db }, { caller }) => {
  const [identity, family] = await Promise.all([
    RuntimeIdentity.query(db).findById(caller.runtimeId).throwIfNotFound(),
    TokenFamily.query(db).findById(caller.sessionId).throwIfNotFound(),
  ]);
  return {
    status: 200,
    body: {
      ok: true,
      runtime: presentRuntimeIdentity(identity),
      agentId: caller.agentId,
      userId: caller.userId,
      session: {
        accessTokenExpiresAt: toTimestamp(family.accessExpiresAt),
        refreshTokenExpiresAt: toTimestamp(family.refreshExpiresAt ?? family.expiresAt),
      },
    },
  };
};
