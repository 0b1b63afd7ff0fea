import { ApiError } from '../../contract/errors.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { Agent } from '../../models/agent.js';
import { once } from '../once.js';
import type { Operation } from '../operation.js';
import { takeAttended } from './attended-job.js';

export const jobsRetry: Operation<'operator.jobs.retry'> = async ({ db, jobs }, call) => {
  const { decided, answer } = await once(
    db,
    call.idempotency,
    async (trx) => {
      const failed = await takeAttended(trx, call, 'job.retried');
      const agent = await Agent.query(trx)
        .findById(failed.agentId ?? '')
        .whereNull('deletedAt')
        .forUpdate();
      if (!agent) throw new ApiError('conflict', 'The agent of this job is gone.');
      const { join } = await makeWay(trx, agent, failed.kind);
      if (join) throw new ApiError('conflict', `A job of this kind is under way (${join.id}).`);
      const requestedBy = { type: 'operator', id: call.caller.userId } as const;
      return createAgentJob(trx, { kind: failed.kind, agent, requestedBy, params: failed.params });
    },
    ({ job }) => ({ status: 202 as const, view: 'canceling' as const, ids: { jobId: job.id } }),
  );
  if (decided) jobs.start(decided.job);
  return answer;
};
