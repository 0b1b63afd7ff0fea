import type { Job as JobResource } from '../contract/shapes/job.js';
import type { Job } from '../models/job.js';
import { toTimestamp, toTimestampOrNull } from './timestamp.js';

export const presentJob = (job: Job): JobResource => ({
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
