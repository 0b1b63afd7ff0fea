import { ApiError } from '../../contract/errors.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { requireStartStop } from '../../rules/entitlement.js';
import { entitlementOf } from '../entitlement.js';
import { asRequester, type Operation } from '../operation.js';
import { answerJob, type Decided } from './answer-job.js';
import { getOwnAgentForUpdate } from './own-agent.js';

export const stop: Operation<'agents.stop'> = async (deps, { caller, params, idempotency }) => {
  requireStartStop(entitlementOf(deps.plans, caller.userId));
  return answerJob(deps, idempotency, async (trx): Promise<Decided> => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join, superseded } = await makeWay(trx, agent, 'agent.stop', ['agent.start', 'agent.provision']);
    if (join) return { agent, job: join };
    if (!superseded && !agent.isProvisioned)
      throw new ApiError('agent_not_provisioned', 'The agent has no machine to stop.');
    if (!superseded && agent.status === 'offline') return { agent };
    const requestedBy = asRequester(caller);
    return { ...(await createAgentJob(trx, { kind: 'agent.stop', agent, requestedBy })), isNew: true, superseded };
  });
};
