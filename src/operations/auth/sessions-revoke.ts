import { ApiError } from '../../contract/errors.js';
import { writeAudit } from '../../models/audit-event.js';
import { findOwnSession } from '../../models/session.js';
import { endFamilyTree } from '../../models/family-tree.js';
import { actorOf } from '../actor.js';
import type { Operation } from '../operation.js';

const OPENED_BY_IT = 'it was let in by a session that was revoked';

export const sessionsRevoke: Operation<'auth.sessions.revoke'> = async ({ db }, call) => {
  const { caller, params } = call;
  await db.transaction(async (trx) => {
    const family = await findOwnSession(trx, caller.userId, params.id);
    if (!family) throw new ApiError('not_found', 'There is no such session.');
    for (const { id, kind, name } of await endFamilyTree(trx, family.id, 'revoked')) {
      const event = { action: 'session.revoked', subjectType: 'session', subjectId: id, before: { kind, name } };
      await writeAudit(trx, { ...actorOf(call), ...event, ...(id === family.id ? {} : { reason: OPENED_BY_IT }) });
    }
  });
  return { status: 200, body: { ok: true } };
};
