import { ApiError } from '../../contract/errors.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { requireStartStop } from '../../rules/entitlement.js';
import { entitlementOf } from '../entitlement.js';
import { asRequester, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

export const stop: Operation<'agents.stop'> = async ({ db, jobs, plans }, { caller, params }) => {
  requireStartStop(entitlementOf(plans, caller.userId));
  const { agent, job, superseded, joined } = await db.transaction(async (trx) => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join, superseded } = await makeWay(trx, agent, 'agent.stop', ['agent.start', 'agent.provision']);
    if (join) return { agent, job: join, superseded, joined: true };
    if (!superseded && !agent.isProvisioned)
      throw new ApiError('agent_not_provisioned', 'The agent has no machine to stop.');
    if (!superseded && agent.status === 'offline') return { agent, job: undefined, superseded, joined: true };
    const job = await createAgentJob(trx, { kind: 'agent.stop', agent, requestedBy: asRequester(caller) });
    return { agent, job, superseded, joined: false };
  });
  if (superseded) await jobs.hurryCancel(superseded);
  if (job && !joined) await jobs.start(job);
  return { status: joined ? 200 : 202, view: 'agentJob', ids: { agentId: agent.id, jobId: job?.id ?? null } };
};
