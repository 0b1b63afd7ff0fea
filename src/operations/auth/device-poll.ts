import type { Transaction } from 'objection';
import { ApiError } from '../../contract/errors.js';
import { writeAudit } from '../../models/audit-event.js';
import { DeviceLogin, pollLogin } from '../../models/device-login.js';
import type { KeyRing } from '../../models/key-ring.js';
import { holdOpener } from '../../models/family-tree.js';
import { findUntouchedFamily, type FamilyTokens, openFamily, tokensOf } from '../../models/token-family.js';
import { presentTokenPair } from '../../presenters/token-pair.js';
import { entitlementOf } from '../entitlement.js';
import type { Operation } from '../operation.js';
import { countMiss, guessLimits } from '../guesses.js';

/** The absolute life of a signed-in device. */
const LASTS_FOR = '180 days';
/** The same pair is told again for so long, while none of it was used. */
const TOLD_AGAIN_FOR = '60 seconds';

/** The tokens of an approved login: made by the first poll, told again to a client that lost the reply, gone once used. Whose approver's session was revoked meanwhile gets none. */
const tokensFor = async (
  trx: Transaction,
  keys: KeyRing,
  login: DeviceLogin,
  requestId: string,
): Promise<FamilyTokens | 'denied' | undefined> => {
  if (login.userId === null) return undefined;
  if (login.familyId !== null) {
    const family = await findUntouchedFamily(trx, login.familyId, TOLD_AGAIN_FOR);
    // Without its key the answer cannot be told again.
    return family && keys.has(family.keyId) ? tokensOf(keys, family) : undefined;
  }
  const { userId, kind, clientName: name, scopes, address, approvedBySession: openedBy } = login;
  if (!(await holdOpener(trx, openedBy))) return 'denied';
  const tokens = await openFamily(trx, keys, { kind, userId, name, scopes, address, openedBy, lastsFor: LASTS_FOR });
  await DeviceLogin.query(trx).findById(login.id).patch({ familyId: tokens.family.id });
  await writeAudit(trx, {
    actorType: 'user',
    actorId: userId,
    sessionId: openedBy,
    userId,
    action: 'session.opened',
    subjectType: 'session',
    subjectId: tokens.family.id,
    after: { kind, name, scopes },
    requestId,
  });
  return tokens;
};

export const devicePoll: Operation<'auth.device.poll'> = async ({ db, keys, plans }, call) => {
  const answer = await db.transaction(async (trx) => {
    const polled = await pollLogin(trx, call.body.deviceCode);
    if (!polled) return undefined;
    const { login, isExpired, isTooSoon } = polled;
    if (login.status === 'denied') return { status: 'access_denied' as const };
    if (login.status === 'approved') {
      const tokens =
        isExpired && login.familyId === null ? undefined : await tokensFor(trx, keys, login, call.requestId);
      if (tokens === 'denied') return { status: 'access_denied' as const };
      if (!tokens) return { status: 'expired_token' as const };
      return presentTokenPair(tokens, entitlementOf(plans, tokens.family.userId).planCode);
    }
    if (isExpired) return { status: 'expired_token' as const };
    const interval = login.intervalSeconds;
    return isTooSoon
      ? { status: 'slow_down' as const, interval }
      : { status: 'authorization_pending' as const, interval };
  });
  if (!answer) {
    await countMiss(db, `device-code:${call.network}`, guessLimits.deviceCode);
    throw new ApiError('not_found', 'There is no such device login.');
  }
  return { status: 200, body: answer };
};
