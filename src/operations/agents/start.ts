import { ApiError } from '../../contract/errors.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { requireStartStop } from '../../rules/entitlement.js';
import { entitlementOf } from '../entitlement.js';
import { asRequester, type Operation } from '../operation.js';
import { answerJob, type Decided } from './answer-job.js';
import { getOwnAgentForUpdate } from './own-agent.js';

export const start: Operation<'agents.start'> = async (deps, { caller, params, idempotency }) => {
  requireStartStop(entitlementOf(deps.plans, caller.userId));
  return answerJob(deps, idempotency, async (trx): Promise<Decided> => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join } = await makeWay(trx, agent, 'agent.start');
    if (join) return { agent, job: join };
    if (!agent.isProvisioned) throw new ApiError('agent_not_provisioned', 'Provision the agent first.');
    if (agent.status === 'online') return { agent };
    const requestedBy = asRequester(caller);
    return { ...(await createAgentJob(trx, { kind: 'agent.start', agent, requestedBy })), isNew: true };
  });
};
