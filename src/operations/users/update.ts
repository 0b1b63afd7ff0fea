import { raw } from 'objection';
import { User } from '../../models/user.js';
import { presentUser } from '../../presenters/user.js';
import { entitlementOf } from '../entitlement.js';
import type { Operation } from '../operation.js';

export const update: Operation<'users.update'> = async ({ db, plans }, { caller, body }) => {
  const changes = Object.keys(body).length === 0 ? {} : { ...body, updatedAt: raw('now()') }; // Objection takes raw for any column
  const user = await (
    Object.keys(changes).length === 0
      ? User.query(db).findById(caller.userId)
      : User.query(db).patchAndFetchById(caller.userId, changes)
  ).throwIfNotFound();
  return { status: 200, body: presentUser(user, entitlementOf(plans, user.id).planCode, caller.isOperator) };
};
