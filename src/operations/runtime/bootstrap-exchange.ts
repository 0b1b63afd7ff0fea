import { ApiError } from '../../contract/errors.js';
import { Id } from '../../contract/common.js';
import { writeAudit } from '../../models/audit-event.js';
import { exchangeBootstrapToken, isRuntime } from '../../models/runtime-session.js';
import { presentRuntimeSession } from '../../presenters/runtime.js';
import { countMiss, guessLimits, requireFewMisses } from '../guesses.js';
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
  const guesser = [db, `bootstrap:${body.runtimeId}`, guessLimits.bootstrapToken] as const;
  await requireFewMisses(...guesser);
  const exchanged = await exchange();
  if (!exchanged) {
    // Made-up ids are not counted: there is nothing to be guessed, and each would leave a row.
    if (await isRuntime(db, body.runtimeId)) await countMiss(...guesser);
    throw refused;
  }
  return { status: 200, body: presentRuntimeSession(exchanged.identity, exchanged) };
};
