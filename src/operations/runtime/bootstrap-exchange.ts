import { ApiError } from '../../contract/errors.js';
import { Agent } from '../../models/agent.js';
import { activateRuntime, exchangeBootstrapToken } from '../../models/runtime-session.js';
import { presentRuntimeSession } from '../../presenters/runtime.js';
import type { Operation } from '../operation.js';

export const bootstrapExchange: Operation<'runtime.bootstrap.exchange'> = async ({ db, keys }, { body }) => {
  const answer = await db.transaction(async (trx) => {
    const tokens = await exchangeBootstrapToken(trx, keys, body);
    if (!tokens) return undefined;
    const identity = await activateRuntime(trx, tokens.session.runtimeId, body.runtimeVersion);
    const agent = await Agent.query(trx).findById(identity.agentId).throwIfNotFound();
    return presentRuntimeSession(identity, agent.userId, tokens);
  });
  if (!answer) throw new ApiError('unauthenticated', 'The bootstrap token is wrong, expired or spent.');
  return { status: 200, body: answer };
};
