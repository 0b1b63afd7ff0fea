import { ApiError } from '../../contract/errors.js';
import { isCall } from '../../contract/shapes/job.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { Agent } from '../../models/agent.js';
import { once } from '../once.js';
import type { Operation } from '../operation.js';
import { getJob, takeAttended } from './attended-job.js';

export const jobsRetry: Operation<'operator.jobs.retry'> = async ({ db, jobs }, call) => {
  const { decided, answer } = await once(
    db,
    call.idempotency,
    async (trx) => {
      const { agentId } = await getJob(trx, call.params.id);
      // Lock order: the agent, then the job.
      const agent = await Agent.query(trx)
        .findById(agentId ?? '')
        .whereNull('deletedAt')
        .forUpdate();
      const failed = await takeAttended(trx, call, 'job.retried');
      if (!agent) throw new ApiError('conflict', 'The agent of this job is gone.');
      const { kind: asked, params } = failed;
      if (isCall(asked)) throw new ApiError('conflict', 'A call of a machine is never made again: resolve it instead.');
      // What happened since is its owner's will: an old deletion must not destroy an agent that lives again.
      const isStillMeant =
        asked === 'agent.delete' ? agent.desiredStatus === 'deleted' : agent.lastError?.jobId === failed.id;
      if (agent.status !== 'error' || !isStillMeant)
        throw new ApiError('conflict', 'The agent has moved on since this job: resolve it instead.');
      // Its owner took it back: what is left to do is to switch off what it has made.
      const wasTakenBack = failed.error?.code === 'canceled' || failed.error?.code === 'superseded';
      const kind = wasTakenBack ? 'agent.stop' : asked;
      const { join } = await makeWay(trx, agent, kind);
      if (join) throw new ApiError('conflict', `A job of this kind is under way (${join.id}).`);
      const requestedBy = { type: 'operator', id: call.caller.userId } as const;
      return createAgentJob(trx, { kind, agent, requestedBy, params });
    },
    ({ job }) => ({ status: 202 as const, view: 'canceling' as const, ids: { jobId: job.id } }),
  );
  if (decided) jobs.start(decided.job);
  return answer;
};
