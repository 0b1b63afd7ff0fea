import { toTimestamp } from '../../presenters/timestamp.js';
import type { Operation } from '../operation.js';
import { getOpenLogin } from './open-login.js';

export const deviceLookup: Operation<'auth.device.lookup'> = async (deps, { caller, query, network }) => {
  const login = await getOpenLogin(deps, { userId: caller.userId, network, userCode: query.userCode });
  return {
    status: 200,
    body: {
      clientName: login.clientName,
      address: login.address,
      scopes: login.scopes,
      requestedAt: toTimestamp(login.createdAt),
      expiresAt: toTimestamp(login.expiresAt),
    },
  };
};
