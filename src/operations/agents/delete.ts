import { createAgentJob } from '../../jobs/index.js';
import { supersede } from '../../jobs/create.js';
import { agentDeleteLock, agentLock } from '../../models/agent.js';
import { findLockHolder } from '../../models/job.js';
import { asRequester, type Operation } from '../operation.js';
import { getOwnAgentForUpdate } from './own-agent.js';

/** From any state; what holds the agent is canceled, and its undoing waited for by the workflow. */
export const deleteAgent: Operation<'agents.delete'> = async ({ db, jobs }, { caller, params }) => {
  const { job, superseded, joined } = await db.transaction(async (trx) => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const running = await findLockHolder(trx, agentDeleteLock(agent.id));
    if (running) return { job: running, superseded: undefined, joined: true };
    const holder = await findLockHolder(trx, agentLock(agent.id));
    const superseded = holder ? await supersede(trx, holder) : undefined;
    const job = await createAgentJob(trx, { kind: 'agent.delete', agent, requestedBy: asRequester(caller) });
    return { job, superseded, joined: false };
  });
  if (superseded) await jobs.hurryCancel(superseded);
  if (!joined) await jobs.start(job);
  return { status: joined ? 200 : 202, view: 'okJob', ids: { jobId: job.id } };
};
