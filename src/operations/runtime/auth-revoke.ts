import { endSession } from '../end-session.js';
import type { Operation } from '../operation.js';

export const authRevoke: Operation<'runtime.auth.revoke'> = async ({ db }, { body, requestId }) => {
  await endSession(db, body.refreshToken, ['runtime'], requestId);
  return { status: 200, body: { ok: true } };
};
