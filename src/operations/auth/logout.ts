import { endSession } from '../end-session.js';
import type { Operation } from '../operation.js';

export const logout: Operation<'auth.logout'> = async ({ db }, { body, requestId }) => {
  await endSession(db, body.refreshToken, ['cli', 'mcp'], requestId);
  return { status: 200, body: { ok: true } };
};
