import { ApiError } from '../../contract/errors.js';
import { writeAudit } from '../../models/audit-event.js';
import { findGatewayToken, openGatewayToken } from '../../models/gateway-token.js';
import { actorOf } from '../actor.js';
import type { Operation } from '../operation.js';
import { getOwnAgent } from './own-agent.js';

export const gatewayAccess: Operation<'agents.gateway-access'> = async ({ db, keys }, call) => {
  const agent = await getOwnAgent(db, call.caller.userId, call.params.id);
  const token = await findGatewayToken(db, agent.id);
  if (agent.gatewayUrl === null || !token)
    throw new ApiError('agent_not_provisioned', 'The agent has no gateway before it is provisioned.');
  const event = { action: 'gateway_token.read', subjectType: 'agent', subjectId: agent.id };
  await db.transaction((trx) => writeAudit(trx, { ...actorOf(call), ...event }));
  return { status: 200, body: { gatewayUrl: agent.gatewayUrl, gatewayToken: openGatewayToken(keys, token) } };
};
