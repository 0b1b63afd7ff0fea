import { ApiError } from '../../contract/errors.js';
import { findGatewayToken, openGatewayToken } from '../../models/gateway-token.js';
import type { Operation } from '../operation.js';
import { getOwnAgent } from './own-agent.js';

export const gatewayAccess: Operation<'agents.gateway-access'> = async ({ db, keys }, { caller, params }) => {
  const agent = await getOwnAgent(db, caller.userId, params.id);
  const token = await findGatewayToken(db, agent.id);
  if (agent.gatewayUrl === null || !token)
    throw new ApiError('agent_not_provisioned', 'The agent has no gateway before it is provisioned.');
  return { status: 200, body: { gatewayUrl: agent.gatewayUrl, gatewayToken: openGatewayToken(keys, token) } };
};
