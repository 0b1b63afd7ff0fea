import { writeAudit } from '../../models/audit-event.js';
import { decideLogin } from '../../models/device-login.js';
import { actorOf } from '../actor.js';
import type { Operation } from '../operation.js';
import { getOpenLogin, noSuchCode } from './open-login.js';

export const deviceDeny: Operation<'auth.device.deny'> = async (deps, call) => {
  const { caller, body, network } = call;
  const login = await getOpenLogin(deps, { userId: caller.userId, network, userCode: body.userCode });
  await deps.db.transaction(async (trx) => {
    if (!(await decideLogin(trx, login.id, { status: 'denied', userId: caller.userId }))) throw noSuchCode();
    await writeAudit(trx, {
      ...actorOf(call),
      action: 'device.denied',
      subjectType: 'device_login',
      subjectId: login.id,
      after: { clientName: login.clientName, address: login.address },
    });
  });
  return { status: 200, body: { ok: true, status: 'denied', clientName: login.clientName } };
};
