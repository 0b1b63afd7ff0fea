import { ApiError } from '../../contract/errors.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { requireStartStop } from '../../rules/entitlement.js';
import { entitlementOf } from '../entitlement.js';
import { asRequester, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

export const start: Operation<'agents.start'> = async ({ db, jobs, plans }, { caller, params }) => {
  requireStartStop(entitlementOf(plans, caller.userId));
  const { agent, job, joined } = await db.transaction(async (trx) => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join } = await makeWay(trx, agent, 'agent.start');
    if (join) return { agent, job: join, joined: true };
    if (!agent.isProvisioned) throw new ApiError('agent_not_provisioned', 'Provision the agent first.');
    if (agent.status === 'online') return { agent, job: undefined, joined: true };
    const job = await createAgentJob(trx, { kind: 'agent.start', agent, requestedBy: asRequester(caller) });
    return { agent, job, joined: false };
  });
  if (job && !joined) await jobs.start(job);
  return { status: joined ? 200 : 202, view: 'agentJob', ids: { agentId: agent.id, jobId: job?.id ?? null } };
};
