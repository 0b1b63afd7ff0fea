import { createAgentJob, supersede } from '../../jobs/index.js';
import { agentDeleteLock, agentLock } from '../../models/agent.js';
import { findLockHolders } from '../../models/job.js';
import { asRequester, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

/** From any state; what holds the agent is canceled, and its undoing waited for by the workflow. */
export const deleteAgent: Operation<'agents.delete'> = async ({ db, jobs }, { caller, params }) => {
  const { job, superseded, isNew } = await db.transaction(async (trx) => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const holders = await findLockHolders(trx, [agentDeleteLock(agent.id), agentLock(agent.id)]);
    const deletion = holders.find((holder) => holder.kind === 'agent.delete');
    if (deletion) return { job: deletion, superseded: undefined, isNew: false };
    const superseded = holders[0] ? await supersede(trx, holders[0]) : undefined;
    const { job } = await createAgentJob(trx, { kind: 'agent.delete', agent, requestedBy: asRequester(caller) });
    return { job, superseded, isNew: true };
  });
  if (superseded) jobs.hurryCancel(superseded);
  if (isNew) jobs.start(job);
  return { status: isNew ? 202 : 200, view: 'okJob', ids: { jobId: job.id } };
};
