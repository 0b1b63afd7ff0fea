import { ApiError } from '../../contract/errors.js';
import { Id } from '../../contract/common.js';
import { writeAudit } from '../../models/audit-event.js';
import { exchangeBootstrapToken, isRuntime } from '../../models/runtime-session.js';
import { presentRuntimeSession } from '../../presenters/runtime.js';
import { countMiss, guessLimits } from '../guesses.js';
import type { Operation } from '../operation.js';

const RuntimeId = Id('runtime');

export const bootstrapExchange: Operation<'runtime.bootstrap.exchange'> = async ({ db, keys }, { body, requestId }) => {
  const exchange = () =>
    db.transaction(async (trx) => {
      const exchanged = await exchangeBootstrapToken(trx, keys, body);
      if (exchanged?.isNew === true) {
        const { identity, family } = exchanged;
        await writeAudit(trx, {
          actorType: 'runtime',
          actorId: identity.id,
          sessionId: family.id,
          userId: family.userId,
          action: 'runtime.session_opened',
          subjectType: 'runtime',
          subjectId: identity.id,
          after: { agentId: identity.agentId, runtimeVersion: identity.runtimeReleaseVersion },
          requestId,
        });
      }
      return exchanged;
    });
  const refused = new ApiError('unauthenticated', 'The bootstrap token is wrong, expired or spent.');
  if (!RuntimeId.safeParse(body.runtimeId).success) throw refused;
  const exchanged = await exchange();
  if (!exchanged) {
    // Only misses are refused for being too many: 256 bits are not found by trying, and a stranger who knows the id must not be
    // able to keep the machine out. Made-up ids are not counted: each would leave a row.
    if (await isRuntime(db, body.runtimeId))
      await countMiss(db, `bootstrap:${body.runtimeId}`, guessLimits.bootstrapToken);
    throw refused;
  }
  return { status: 200, body: presentRuntimeSession(exchanged.identity, exchanged) };
};
