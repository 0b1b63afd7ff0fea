import { ApiError } from '../../contract/errors.js';
import { createAgentJob, inTheWay, makeWay } from '../../jobs/index.js';
import { writeAudit } from '../../models/audit-event.js';
import { adoptNextGatewayToken, findGatewayToken, mintNextGatewayToken } from '../../models/gateway-token.js';
import { actorOf } from '../actor.js';
import { asRequester, type Operation } from '../operation.js';
import { answerJob, type Decided } from './answer-job.js';
import { getOwnAgentForUpdate } from './own-agent.js';

export const rotateGatewayToken: Operation<'agents.rotate-gateway-token'> = async (deps, call) => {
  const { caller, params, body } = call;
  return answerJob(deps, call.idempotency, async (trx): Promise<Decided> => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    const { join } = await makeWay(trx, agent, 'agent.rotate-gateway-token');
    if (join) {
      // A token that leaked must not live until the machine has the new one.
      if (body?.force === true) {
        // The token under way is the one the caller has not seen: there is nothing else to end, and nothing to tell.
        if (!(await adoptNextGatewayToken(trx, agent.id))) throw inTheWay(join);
        const forced = { action: 'gateway_token.rotated', subjectType: 'agent', subjectId: agent.id };
        await writeAudit(trx, { ...actorOf(call), ...forced, after: { force: true } });
      }
      return { agent, job: join };
    }
    if (!agent.isProvisioned || !(await findGatewayToken(trx, agent.id)))
      throw new ApiError('agent_not_provisioned', 'The agent has no gateway before it is provisioned.');
    // A machine that is off takes the new token along at its next start: nothing has to wait for it.
    const machineRuns = agent.status !== 'offline';
    const force = body?.force === true || !machineRuns;
    await mintNextGatewayToken(trx, deps.keys, agent.id, force);
    const event = { action: 'gateway_token.rotated', subjectType: 'agent', subjectId: agent.id, after: { force } };
    await writeAudit(trx, { ...actorOf(call), ...event });
    if (!machineRuns) return { agent };
    const requestedBy = asRequester(caller);
    return { ...(await createAgentJob(trx, { kind: 'agent.rotate-gateway-token', agent, requestedBy })), isNew: true };
  });
};
