import type { Transaction } from 'objection';
import { isCall, type JobError, type JobStep, type MovingKind } from '../contract/shapes/job.js';
import { onEnded } from '../rules/agent-status.js';
import { Agent } from './agent.js';
import { retireGatewayTokens } from './gateway-token.js';
import { Job } from './job.js';
import { forgetCalls, forgetRequest } from './machine-call.js';
import { revokeRuntimes } from './runtime-identity.js';

export interface Outcome {
  status: 'succeeded' | 'failed' | 'canceled';
  result?: Record<string, unknown>;
  error?: JobError;
}

const closeSteps = (steps: JobStep[], now: string, isSuccess: boolean): JobStep[] =>
  steps.map((step) => {
    if (step.status === 'running') return { ...step, status: isSuccess ? 'done' : 'failed', finishedAt: now };
    return step.status === 'pending' ? { ...step, status: 'skipped' } : step;
  });

const settleAgent = async (trx: Transaction, job: Job, kind: MovingKind, outcome: Outcome): Promise<void> => {
  const agent = await Agent.query(trx)
    .findById(job.agentId ?? '')
    .forUpdate();
  if (!agent) return;
  const released = {
    ...(agent.holderJobId === job.id ? { holderJobId: null } : {}),
    ...(agent.activeJobId === job.id ? { activeJobId: null } : {}),
    updatedAt: trx.fn.now(),
  };
  if (agent.activeJobId !== job.id) {
    // A later job was accepted meanwhile: what the agent is, is its to say.
    await trx('agents').update(released).where({ id: agent.id });
    return;
  }
  const deleted = kind === 'agent.delete' && outcome.status === 'succeeded';
  if (deleted) {
    await forgetCalls(trx, agent.id);
    await revokeRuntimes(trx, agent.id);
    await retireGatewayTokens(trx, agent.id);
  }
  await trx('agents')
    .update({
      ...released,
      ...(outcome.status === 'canceled' && job.startedAt === null && job.agentBefore !== null
        ? job.agentBefore
        : onEnded(kind, outcome.status, outcome.error?.code)),
      ...(outcome.error && outcome.status === 'failed'
        ? {
            lastError: JSON.stringify({
              code: outcome.error.code,
              message: outcome.error.message,
              at: new Date().toISOString(),
              jobId: job.id,
            }),
          }
        : {}),
      ...(outcome.status === 'succeeded' ? { lastError: null } : {}),
      ...(deleted
        ? { deletedAt: trx.fn.now(), persona: '', channels: '{}', capabilities: '{}', sealedBotToken: null }
        : {}),
    })
    .where({ id: agent.id });
};

/**
 * Ends a job and says what its agent is from now on, in the caller's transaction.
 * Returns false, and changes nothing, when the job had ended before: the first to settle wins.
 */
export const settleJob = async (trx: Transaction, jobId: string, outcome: Outcome): Promise<boolean> => {
  // Lock order everywhere: the agent, then the job.
  const { agentId, kind } = await Job.query(trx).findById(jobId).select('agentId', 'kind').throwIfNotFound();
  if (agentId !== null && !isCall(kind)) await Agent.query(trx).findById(agentId).select('id').forUpdate();
  const job = await Job.query(trx).findById(jobId).forUpdate().throwIfNotFound();
  if (job.isFinished) return false;
  await trx('jobs')
    .update({
      status: outcome.status,
      result: outcome.result ? JSON.stringify(outcome.result) : null,
      error: outcome.error ? JSON.stringify(outcome.error) : null,
      steps: JSON.stringify(closeSteps(job.steps, new Date().toISOString(), outcome.status === 'succeeded')),
      cancelable: false,
      finishedAt: trx.fn.now(),
    })
    .where({ id: jobId });
  if (isCall(kind)) await forgetRequest(trx, jobId);
  else if (agentId !== null) await settleAgent(trx, job, kind, outcome);
  return true;
};
