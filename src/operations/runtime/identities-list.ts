import { listOwnRuntimes } from '../../models/runtime-session.js';
import { presentRuntimeIdentity } from '../../presenters/runtime.js';
import { DEFAULT_LIMIT, fromCursor, toPage } from '../cursor.js';
import type { Operation } from '../operation.js';

export const identitiesList: Operation<'runtime.identities.list'> = async ({ db }, { caller, query }) => {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const includeRevoked = query.includeRevoked === true;
  const found = await listOwnRuntimes(db, caller.userId, includeRevoked, limit + 1, fromCursor(query.cursor));
  const { rows, nextCursor } = toPage(found, limit);
  return { status: 200, body: { identities: rows.map(presentRuntimeIdentity), nextCursor } };
};
