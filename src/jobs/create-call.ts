import type { Transaction } from 'objection';
import { ApiError } from '../contract/errors.js';
import { type CallKind, callKinds, type Requester } from '../contract/shapes/job.js';
import type { Agent } from '../models/agent.js';
import { findUnfinished, Job } from '../models/job.js';
import type { KeyRing } from '../models/key-ring.js';
import { insertCall } from '../models/machine-call.js';
import { newId } from '../models/new-id.js';
import { settleCanceled } from './create.js';

/** Unfinished ones of a kind on one agent. */
const MOST_CALLS = 8;
const RETRY_AFTER_SECONDS = 5;

interface NewCall {
  kind: CallKind;
  agent: Agent;
  requestedBy: Requester;
  /** What anybody who reads the table may know. */
  params?: Record<string, unknown>;
  /** What nobody may: it is sealed. */
  request?: unknown;
}

/**
 * Writes the row of a job that talks to the agent's machine. It takes no lock, and the agent stays as it is: whatever moves the
 * machine goes on as if it were not there. The caller holds the agent's row lock, so that counting is exact.
 */
export const createCall = async (
  trx: Transaction,
  keys: KeyRing,
  { kind, agent, requestedBy, params = {}, request }: NewCall,
): Promise<Job> => {
  if ((await findUnfinished(trx, agent.id, kind)).length >= MOST_CALLS)
    throw new ApiError('rate_limited', `${MOST_CALLS} of these are under way on this agent; wait for one to end.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  const id = newId('job');
  const job = await Job.query(trx)
    .insert({
      id,
      kind,
      userId: agent.userId,
      agentId: agent.id,
      subjectType: 'agent',
      subjectId: agent.id,
      requestedByType: requestedBy.type,
      requestedById: requestedBy.id,
      workflowId: `${kind}:${agent.id}:${id}`,
      params,
    })
    .returning('*');
  await insertCall(trx, keys, { jobId: id, agentId: agent.id, request });
  return job;
};

/** Ends what has not begun on a machine that is to be deleted. What has begun ends with the machine. The caller holds the agent's row lock. */
export const supersedeCalls = async (trx: Transaction, agentId: string): Promise<void> => {
  const waiting = await Job.query(trx)
    .select('id')
    .where({ agentId, status: 'queued' })
    .whereIn('kind', [...callKinds])
    .forUpdate();
  for (const { id } of waiting) await settleCanceled(trx, id, 'superseded');
};
