import { createHmac } from 'node:crypto';
import type { Transaction } from 'objection';
import type { KeyRing } from './key-ring.js';

export interface KeyedRequest {
  /** Who asks: keys of different principals never meet. */
  principal: string;
  endpoint: string;
  key: string;
  /** Hash of what was asked. */
  fingerprint: Buffer;
}

/**
 * The same request with a fingerprint that tells nothing without our keys: what was asked for is a secret short enough to be guessed.
 * After a change of the key the same request counts as another one.
 */
export const blinded = (keys: KeyRing, request: KeyedRequest): KeyedRequest => {
  const key = keys.key(keys.currentId, 'idempotency-fingerprint');
  return { ...request, fingerprint: createHmac('sha256', key).update(request.fingerprint).digest() };
};

export interface KeptAnswer {
  status: number;
  view: string;
  ids: Record<string, string | null>;
}

export type Taken = 'new' | 'other request' | KeptAnswer;

/** Answers are kept so long. */
export const KEPT_FOR = '24 hours';

/**
 * Takes the key for this transaction. A rival that uses the same key waits here until the first one has committed, and then gets
 * the answer that was kept. A key that outlived its day is as good as new.
 */
export const takeKey = async (trx: Transaction, request: KeyedRequest): Promise<Taken> => {
  const { principal, endpoint, key, fingerprint } = request;
  const where = { principal, endpoint, key };
  await trx('idempotency_keys')
    .delete()
    .where(where)
    .where('createdAt', '<', trx.raw(`now() - interval '${KEPT_FOR}'`));
  const inserted = await trx('idempotency_keys')
    .insert({ ...where, fingerprint })
    .onConflict(['principal', 'endpoint', 'key'])
    .ignore()
    .returning<{ key: string }[]>('key');
  if (inserted.length > 0) return 'new';
  const kept = await trx('idempotency_keys')
    .where(where)
    .first<{ fingerprint: Buffer; status: number; view: string; ids: Record<string, string | null> } | undefined>();
  if (!kept) return takeKey(trx, request); // swept in between: it is as good as new
  if (!kept.fingerprint.equals(fingerprint)) return 'other request';
  return { status: kept.status, view: kept.view, ids: kept.ids };
};

/** Keeps the answer with the key: the status and the ids, never a body; it is rendered anew each time. */
export const keepAnswer = async (trx: Transaction, request: KeyedRequest, answer: KeptAnswer): Promise<void> => {
  const { principal, endpoint, key } = request;
  await trx('idempotency_keys')
    .update({ status: answer.status, view: answer.view, ids: JSON.stringify(answer.ids) })
    .where({ principal, endpoint, key });
};
