import { Model, type Transaction } from 'objection';
import type { CallKind } from '../contract/shapes/job.js';
import type { Db } from '../db/knex.js';
import type { KeyRing } from './key-ring.js';
import { type Sealed, seal, unseal } from './sealed.js';

/** What a job says to a machine and hears from it. It is people's own: sealed, kept apart from the job, and soon gone. */
export class MachineCall extends Model {
  static override tableName = 'machine_calls';
  static override idColumn = 'jobId';
  static override jsonAttributes = ['sealedRequest', 'sealedAnswer'];
  declare jobId: string;
  declare agentId: string;
  declare sealedRequest: Sealed | null;
  declare sealedAnswer: Sealed | null;
  declare begunBy: string | null;
  declare expiresAt: Date;
}

/** How long an answer can be read. A log is asked for again and again; what it said is soon old. */
const answersKeptFor: Record<CallKind, string> = { 'agent.command': '24 hours', 'agent.logs': '10 minutes' };
const UNANSWERED_FOR = '24 hours';

const placeOf = (column: 'request' | 'answer', jobId: string): string => `machine_calls.sealed_${column}:${jobId}`;

/** Writes what a job is to say, if that is not for everyone to read. */
export const insertCall = async (
  trx: Transaction,
  keys: KeyRing,
  { jobId, agentId, request }: { jobId: string; agentId: string; request?: unknown },
): Promise<void> => {
  await trx('machine_calls').insert({
    jobId,
    agentId,
    ...(request === undefined
      ? {}
      : { sealedRequest: JSON.stringify(seal(keys, placeOf('request', jobId), JSON.stringify(request))) }),
    expiresAt: trx.raw(`now() + interval '${UNANSWERED_FOR}'`),
  });
};

/** What the job is to say; undefined once it has begun or ended. */
export const openRequest = async (db: Db, keys: KeyRing, jobId: string): Promise<unknown> => {
  const call = await MachineCall.query(db).findById(jobId);
  if (!call?.sealedRequest) return undefined;
  return JSON.parse(unseal(keys, placeOf('request', jobId), call.sealedRequest)) as unknown;
};

/** What was heard, if it is still kept; undefined also when its key is gone. */
export const openAnswer = async (
  db: Db,
  keys: KeyRing,
  jobId: string,
): Promise<Record<string, unknown> | undefined> => {
  const call = await MachineCall.query(db).findById(jobId).whereRaw('expires_at > now()');
  if (!call?.sealedAnswer || !keys.has(call.sealedAnswer.keyId)) return undefined;
  // Written as an object by keepAnswer.
  return JSON.parse(unseal(keys, placeOf('answer', jobId), call.sealedAnswer)) as Record<string, unknown>;
};

/** Keeps what this attempt heard. Of a call that is forgotten, or another attempt's, nothing is kept. */
export const keepAnswer = async (
  trx: Transaction,
  keys: KeyRing,
  { jobId, kind, attempt, answer }: { jobId: string; kind: CallKind; attempt: string; answer: object },
): Promise<void> => {
  await trx('machine_calls')
    .update({
      sealedAnswer: JSON.stringify(seal(keys, placeOf('answer', jobId), JSON.stringify(answer))),
      expiresAt: trx.raw(`now() + interval '${answersKeptFor[kind]}'`),
    })
    .where({ jobId, begunBy: attempt });
};

/** A job that has begun or ended says nothing more: what it was to say is wiped. */
export const forgetRequest = async (trx: Transaction, jobId: string): Promise<void> => {
  await trx('machine_calls').update({ sealedRequest: null }).where({ jobId });
};

/** With its agent goes what was said to and by its machine. */
export const forgetCalls = async (trx: Transaction, agentId: string): Promise<void> => {
  await trx('machine_calls').delete().where({ agentId });
};
