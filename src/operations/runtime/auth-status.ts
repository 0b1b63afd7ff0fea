import { RuntimeIdentity } from '../../models/runtime-identity.js';
import { RuntimeSession } from '../../models/runtime-session.js';
import { presentRuntimeIdentity } from '../../presenters/runtime.js';
import { toTimestamp } from '../../presenters/timestamp.js';
import type { Operation } from '../operation.js';

export const authStatus: Operation<'runtime.auth.status'> = async ({ db }, { caller }) => {
  const [identity, session] = await Promise.all([
    RuntimeIdentity.query(db).findById(caller.runtimeId).throwIfNotFound(),
    RuntimeSession.query(db).findById(caller.sessionId).throwIfNotFound(),
  ]);
  return {
    status: 200,
    body: {
      ok: true,
      runtime: presentRuntimeIdentity(identity),
      agentId: caller.agentId,
      userId: caller.userId,
      session: {
        accessTokenExpiresAt: toTimestamp(session.accessExpiresAt),
        refreshTokenExpiresAt: toTimestamp(session.refreshExpiresAt),
      },
    },
  };
};
