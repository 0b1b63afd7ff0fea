import type { Transaction } from 'objection';
import { ApiError } from '../contract/errors.js';
import type { MovingKind, Requester } from '../contract/shapes/job.js';
import { type Agent, agentDeleteLock, agentLock, changeAgent } from '../models/agent.js';
import { findLockHolders, Job } from '../models/job.js';
import { newId } from '../models/new-id.js';
import { settleJob } from '../models/settle-job.js';
import { presentJob } from '../presenters/job.js';
import { onAccepted } from '../rules/agent-status.js';
import { kinds } from './kinds.js';

interface NewAgentJob {
  kind: MovingKind;
  agent: Agent;
  requestedBy: Requester;
  params?: Record<string, unknown>;
}

/** Writes the job row, which is the promise that the work will be done, and what it makes of its agent. The caller holds the agent's row lock. */
export const createAgentJob = async (
  trx: Transaction,
  { kind, agent, requestedBy, params = {} }: NewAgentJob,
): Promise<{ job: Job; agent: Agent }> => {
  const id = newId('job');
  const job = await Job.query(trx)
    .insert({
      id,
      kind,
      userId: agent.userId,
      agentId: agent.id,
      subjectType: 'agent',
      subjectId: agent.id,
      lockKey: kind === 'agent.delete' ? agentDeleteLock(agent.id) : agentLock(agent.id),
      cancelable: kinds[kind].cancelable,
      requestedByType: requestedBy.type,
      requestedById: requestedBy.id,
      workflowId: `${kind}:${agent.id}:${id}`,
      params,
      agentBefore: { status: agent.status, desiredStatus: agent.desiredStatus },
    })
    .returning('*');
  return { job, agent: await changeAgent(trx, agent.id, { ...onAccepted[kind], activeJobId: id }) };
};

export const inTheWay = (job: Job): ApiError =>
  new ApiError('operation_in_progress', `${job.kind} is in progress (${job.id}).`, { job: presentJob(job) });

/**
 * What is under way on the agent: the running job of the same kind, if there is one, to be joined.
 * Any other job on the agent is a conflict, except those of `supersedes`, which give up their lock and are canceled.
 */
export const makeWay = async (
  trx: Transaction,
  agent: Agent,
  kind: MovingKind,
  supersedes: readonly MovingKind[] = [],
): Promise<{ join?: Job; superseded?: Job }> => {
  const holders = await findLockHolders(trx, [agentDeleteLock(agent.id), agentLock(agent.id)]);
  const deletion = holders.find((job) => job.kind === 'agent.delete');
  if (deletion) throw inTheWay(deletion);
  const [running] = holders;
  if (!running) return {};
  // One that is being canceled will not do what is asked now.
  if (running.kind === kind && running.cancelRequestedAt === null) return { join: running };
  if (!supersedes.some((one) => one === running.kind)) throw inTheWay(running);
  return { superseded: await supersede(trx, running) };
};

/** Cancels a job in favour of a later one: its lock is free at once, its work is undone before the later one begins. */
export const supersede = async (trx: Transaction, job: Job): Promise<Job> => {
  await trx('jobs')
    .update({
      lockKey: null,
      cancelable: false,
      cancelRequestedAt: trx.raw('coalesce(cancel_requested_at, now())'),
      cancelCode: 'superseded',
    })
    .where({ id: job.id });
  if (job.status === 'queued') await settleCanceled(trx, job.id, 'superseded');
  return Job.query(trx).findById(job.id).throwIfNotFound();
};

/** Ends a job that no worker has claimed: there is nothing to undo. A claim that comes later finds it ended. */
export const settleCanceled = (trx: Transaction, jobId: string, code: 'canceled' | 'superseded'): Promise<boolean> =>
  settleJob(trx, jobId, {
    status: 'canceled',
    error: {
      code,
      message: code === 'superseded' ? 'Superseded by a later request.' : 'Canceled before it began.',
      retryable: code === 'canceled',
      needsOperator: false,
    },
  });
