import { ApiError } from '../../contract/errors.js';
import { writeAudit } from '../../models/audit-event.js';
import { findOwnSession } from '../../models/session.js';
import { revokeFamilies } from '../../models/token-family.js';
import { actorOf } from '../actor.js';
import type { Operation } from '../operation.js';

export const sessionsRevoke: Operation<'auth.sessions.revoke'> = async ({ db }, call) => {
  const { caller, params } = call;
  await db.transaction(async (trx) => {
    const family = await findOwnSession(trx, caller.userId, params.id);
    if (!family) throw new ApiError('not_found', 'There is no such session.');
    const ended = await revokeFamilies(trx, { id: family.id }, 'revoked');
    if (ended.length === 0) return;
    const event = { action: 'session.revoked', subjectType: 'session', subjectId: family.id };
    await writeAudit(trx, { ...actorOf(call), ...event, before: { kind: family.kind, name: family.name } });
  });
  return { status: 200, body: { ok: true } };
};
