import { findLiveRuntime } from '../../models/runtime-session.js';
import { presentRuntimeSession } from '../../presenters/runtime.js';
import { refreshAudited } from '../refresh-audited.js';
import { refusedRefresh } from '../refused-refresh.js';
import type { Operation } from '../operation.js';

export const authRefresh: Operation<'runtime.auth.refresh'> = async ({ db, keys }, { body, requestId }) => {
  const answer = await db.transaction(async (trx) => {
    const outcome = await refreshAudited(trx, keys, body.refreshToken, ['runtime'], requestId);
    if (typeof outcome === 'string') return outcome;
    if ('ended' in outcome) return 'reused';
    const identity = await findLiveRuntime(trx, outcome.family.runtimeId ?? '');
    return identity ? presentRuntimeSession(identity, outcome) : 'unknown';
  });
  if (typeof answer === 'string') throw refusedRefresh(answer);
  return { status: 200, body: answer };
};
