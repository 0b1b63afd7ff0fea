import { createAgentJob, supersede, supersedeCalls } from '../../jobs/index.js';
import { agentDeleteLock, agentLock, changeAgent } from '../../models/agent.js';
import { retireGatewayTokens } from '../../models/gateway-token.js';
import { findLockHolders } from '../../models/job.js';
import { revokeRuntimes } from '../../models/runtime-identity.js';
import { writeAudit } from '../../models/audit-event.js';
import { actorOf } from '../actor.js';
import { asRequester, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

/** From any state; what holds the agent is canceled, and its undoing waited for by the workflow. */
export const deleteAgent: Operation<'agents.delete'> = async ({ db, jobs }, call) => {
  const { caller, params } = call;
  const { job, superseded, isNew } = await db.transaction(async (trx) => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const holders = await findLockHolders(trx, [agentDeleteLock(agent.id), agentLock(agent.id)]);
    const deletion = holders.find((holder) => holder.kind === 'agent.delete');
    if (deletion) return { job: deletion, superseded: undefined, isNew: false };
    const superseded = holders[0] ? await supersede(trx, holders[0]) : undefined;
    await supersedeCalls(trx, agent.id);
    // From this commit on nothing of the agent's opens anything. Were the deletion to fail, a start would begin with a new identity.
    await revokeRuntimes(trx, agent.id);
    await retireGatewayTokens(trx, agent.id);
    await changeAgent(trx, agent.id, { generation: agent.generation + 1 });
    const { job } = await createAgentJob(trx, { kind: 'agent.delete', agent, requestedBy: asRequester(caller) });
    const event = { action: 'agent.deleted', subjectType: 'agent', subjectId: agent.id, before: { name: agent.name } };
    await writeAudit(trx, { ...actorOf(call), ...event, after: { jobId: job.id } });
    return { job, superseded, isNew: true };
  });
  if (superseded) jobs.hurryCancel(superseded);
  if (isNew) jobs.start(job);
  return { status: isNew ? 202 : 200, view: 'okJob', ids: { jobId: job.id } };
};
