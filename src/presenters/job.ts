import { isCall, type Job as JobResource } from '../contract/shapes/job.js';
import type { Job } from '../models/job.js';
import { ownerMessage } from '../rules/job-advice.js';
import { toTimestamp, toTimestampOrNull } from './timestamp.js';

/** With what the machine said, as long as that is kept: for its owner alone. */
export const presentJobWithAnswer = (job: Job, answer: Record<string, unknown> | undefined): JobResource => {
  const presented = presentJob(job);
  if (!isCall(job.kind) || job.result === null) return presented;
  return { ...presented, result: { ...job.result, ...(answer ?? { expired: true }) } };
};

/** For whoever asked for it: what went wrong is said in words that lead out. */
export const presentJob = (job: Job): JobResource => {
  const presented = presentJobForOperator(job);
  const { error } = presented;
  return error === null ? presented : { ...presented, error: { ...error, message: ownerMessage(job.kind, error) } };
};

/** What went wrong in the words of the part that failed. */
export const presentJobForOperator = (job: Job): JobResource => ({
  id: job.id,
  kind: job.kind,
  status: job.status,
  subject: { type: job.subjectType, id: job.subjectId },
  agentId: job.agentId,
  step: job.step,
  steps: job.steps,
  result: job.result,
  error: job.error,
  cancelable: job.cancelable && job.cancelRequestedAt === null && !job.isFinished,
  requestedBy: { type: job.requestedByType, id: job.requestedById },
  workflowId: job.workflowId,
  createdAt: toTimestamp(job.createdAt),
  startedAt: toTimestampOrNull(job.startedAt),
  finishedAt: toTimestampOrNull(job.finishedAt),
  deadlineAt: toTimestampOrNull(job.deadlineAt),
});
