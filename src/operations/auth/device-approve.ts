import { ApiError } from '../../contract/errors.js';
import type { SessionScope } from '../../contract/shapes/session.js';
import { writeAudit } from '../../models/audit-event.js';
import { decideLogin } from '../../models/device-login.js';
import { mayGrant } from '../../rules/scopes.js';
import { actorOf } from '../actor.js';
import type { Operation } from '../operation.js';
import { requirePerson } from '../require-person.js';
import { getOpenLogin, noSuchCode } from './open-login.js';

/** What is granted: what was asked for or less, and never more than the approver has. */
const chooseScopes = (
  own: readonly SessionScope[],
  asked: SessionScope[],
  chosen: SessionScope[] | undefined,
): SessionScope[] => {
  const scopes = chosen ?? asked;
  if (mayGrant(asked, scopes) && mayGrant(own, scopes)) return scopes;
  throw new ApiError('invalid_request', 'Only scopes that were asked for, and that you have, can be granted.', {
    errors: [{ pointer: '/scopes', message: `must be among ${asked.join(', ')}` }],
  });
};

export const deviceApprove: Operation<'auth.device.approve'> = async (deps, call) => {
  const { caller, body, network } = call;
  requirePerson(caller);
  const login = await getOpenLogin(deps, { userId: caller.userId, network, userCode: body.userCode });
  const scopes = chooseScopes(caller.scopes, login.scopes, body.scopes);
  const approval = { status: 'approved', userId: caller.userId, approvedBySession: caller.sessionId, scopes } as const;
  await deps.db.transaction(async (trx) => {
    if (!(await decideLogin(trx, login.id, approval))) throw noSuchCode();
    await writeAudit(trx, {
      ...actorOf(call),
      action: 'device.approved',
      subjectType: 'device_login',
      subjectId: login.id,
      after: { clientName: login.clientName, address: login.address, scopes },
    });
  });
  return { status: 200, body: { ok: true, status: 'approved', clientName: login.clientName } };
};
