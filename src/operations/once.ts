import type { Transaction } from 'objection';
import { ApiError } from '../contract/errors.js';
import type { Db } from '../db/knex.js';
import { keepAnswer, type KeyedRequest, takeKey } from '../models/idempotency-key.js';
import type { Rendered } from './operation.js';
import type { ViewName } from './views.js';

/**
 * One transaction that decides and answers; with an Idempotency-Key the key is taken in it first. A rival with the same key waits for
 * the first one's commit and gets its answer, rendered as things then stand. What fails keeps nothing: the key can be used again.
 */
export const once = async <Decided, Status extends number>(
  db: Db,
  idempotency: KeyedRequest | undefined,
  decide: (trx: Transaction) => Promise<Decided>,
  answer: (decided: Decided) => Rendered<Status>,
): Promise<{ decided?: Decided; answer: Rendered<Status> }> =>
  db.transaction(async (trx) => {
    if (!idempotency) {
      const decided = await decide(trx);
      return { decided, answer: answer(decided) };
    }
    const taken = await takeKey(trx, idempotency);
    if (taken === 'other request')
      throw new ApiError('idempotency_key_reused', 'This Idempotency-Key came with another request before.');
    if (taken !== 'new') {
      // What was kept is what this endpoint answered: status and view are its own.
      const kept = { ...taken, view: taken.view as ViewName, status: taken.status as Status, isReplay: true };
      return { answer: kept };
    }
    const decided = await decide(trx);
    const given = answer(decided);
    const { status, view, ids } = given;
    await keepAnswer(trx, idempotency, { status, view, ids: { ...ids, jobId: ids.jobId ?? null } });
    return { decided, answer: given };
  });
