import { raw } from 'objection';
import { writeAudit } from '../../models/audit-event.js';
import { User } from '../../models/user.js';
import { presentUser } from '../../presenters/user.js';
import { actorOf } from '../actor.js';
import { entitlementOf } from '../entitlement.js';
import type { Operation } from '../operation.js';

export const update: Operation<'users.update'> = async ({ db, plans }, call) => {
  const { caller, body } = call;
  const user = await db.transaction(async (trx) => {
    const before = await User.query(trx).findById(caller.userId).forUpdate().throwIfNotFound();
    const { name = before.name, email = before.email } = body;
    if (name === before.name && email === before.email) return before;
    await writeAudit(trx, {
      ...actorOf(call),
      action: 'user.updated',
      subjectType: 'user',
      subjectId: before.id,
      before: { name: before.name, email: before.email },
      after: { name, email },
    });
    return User.query(trx).patchAndFetchById(before.id, { name, email, updatedAt: raw('now()') }); // Objection takes raw for any column
  });
  return { status: 200, body: presentUser(user, entitlementOf(plans, user.id).planCode, caller.isOperator) };
};
