import { presentTokenPair } from '../../presenters/token-pair.js';
import { entitlementOf } from '../entitlement.js';
import type { Operation } from '../operation.js';
import { refreshAudited } from '../refresh-audited.js';
import { refusedRefresh } from '../refused-refresh.js';

export const refresh: Operation<'auth.refresh'> = async ({ db, keys, plans }, { body, requestId }) => {
  const outcome = await db.transaction((trx) =>
    refreshAudited(trx, keys, body.refreshToken, ['cli', 'mcp'], requestId),
  );
  if (typeof outcome === 'string') throw refusedRefresh(outcome);
  if ('ended' in outcome) throw refusedRefresh('reused');
  return { status: 200, body: presentTokenPair(outcome, entitlementOf(plans, outcome.family.userId).planCode) };
};
