import { ApiError } from '../../contract/errors.js';
import { createAgentJob, makeWay } from '../../jobs/index.js';
import { findGatewayToken, mintNextGatewayToken } from '../../models/gateway-token.js';
import { asRequester, type Operation } from '../operation.js';
import { answerJob, type Decided } from './answer-job.js';
import { getOwnAgentForUpdate } from './own-agent.js';

export const rotateGatewayToken: Operation<'agents.rotate-gateway-token'> = async (
  { db, jobs, keys },
  { caller, params, body },
) => {
  const decided = await db.transaction(async (trx): Promise<Decided> => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join } = await makeWay(trx, agent, 'agent.rotate-gateway-token');
    if (join) return { agent, job: join };
    if (!agent.isProvisioned || !(await findGatewayToken(trx, agent.id)))
      throw new ApiError('agent_not_provisioned', 'The agent has no gateway before it is provisioned.');
    // A machine that is off takes the new token along at its next start: nothing has to wait for it.
    const machineRuns = agent.status !== 'offline';
    await mintNextGatewayToken(trx, keys, agent.id, body?.force === true || !machineRuns);
    if (!machineRuns) return { agent };
    const requestedBy = asRequester(caller);
    return { ...(await createAgentJob(trx, { kind: 'agent.rotate-gateway-token', agent, requestedBy })), isNew: true };
  });
  return answerJob(jobs, decided);
};
