import { User } from '../../models/user.js';
import { presentUser } from '../../presenters/user.js';
import { entitlementOf } from '../entitlement.js';
import type { Operation } from '../operation.js';

export const me: Operation<'users.me'> = async ({ db, plans }, { caller }) => {
  const user = await User.query(db).findById(caller.userId).throwIfNotFound();
  const { planCode } = entitlementOf(plans, user.id);
  return { status: 200, body: presentUser(user, planCode, caller.isOperator) };
};
