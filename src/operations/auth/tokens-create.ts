import { ApiError } from '../../contract/errors.js';
import { writeAudit } from '../../models/audit-event.js';
import { holdOpener } from '../../models/family-tree.js';
import { countOwnTokens } from '../../models/session.js';
import { openFamily } from '../../models/token-family.js';
import { presentSession } from '../../presenters/session.js';
import { mayGrant } from '../../rules/scopes.js';
import { actorOf } from '../actor.js';
import { once } from '../once.js';
import type { Operation } from '../operation.js';
import { requirePerson } from '../require-person.js';

/** Live named tokens of one user; whoever needs more does not know what they are for. */
const MOST = 100;

export const tokensCreate: Operation<'auth.tokens.create'> = async ({ db, keys }, call) => {
  const { caller, body, address } = call;
  const { name, scopes, expiresInDays } = body;
  requirePerson(caller);
  if (!mayGrant(caller.scopes, scopes)) throw new ApiError('scope_required', 'A token cannot do more than its maker.');
  const { decided } = await once(
    db,
    call.idempotency,
    async (trx) => {
      if ((await countOwnTokens(trx, caller.userId)) >= MOST)
        throw new ApiError('conflict', `There are ${MOST} named tokens: revoke one first.`);
      const lastsFor = `${expiresInDays} days`;
      const openedBy = caller.sessionId;
      if (!(await holdOpener(trx, openedBy)))
        throw new ApiError('unauthenticated', 'The session has ended.', { tokenSent: true });
      const facts = { kind: 'token', userId: caller.userId, name, scopes, address, openedBy, lastsFor } as const;
      const tokens = await openFamily(trx, keys, facts);
      const event = { action: 'session.opened', subjectType: 'session', subjectId: tokens.family.id };
      await writeAudit(trx, { ...actorOf(call), ...event, after: { kind: 'token', name, scopes, expiresInDays } });
      return tokens;
    },
    () => ({ status: 201 as const, view: 'secret' as const, ids: {} }),
  );
  if (!decided) throw new ApiError('conflict', 'The token was made by an earlier request, and is shown only once.');
  const session = presentSession(decided.family, caller.sessionId);
  return { status: 201, body: { ok: true, token: decided.accessToken, session } };
};
