import { ApiError } from '../../contract/errors.js';
import { FreeObject } from '../../contract/common.js';
import { changeAgent } from '../../models/agent.js';
import { presentAgent } from '../../presenters/agent.js';
import type { Operation } from '../operation.js';
import { mergeByKey, takeBotToken } from './channels.js';
import { getOwnAgentForUpdate } from './own-agent.js';

/** The limits hold for what is stored, not only for what one request sends. */
const requireBounded = (field: string, merged: Record<string, unknown>): Record<string, unknown> => {
  const parsed = FreeObject.safeParse(merged);
  if (parsed.success) return merged;
  const message = parsed.error.issues[0]?.message ?? 'is too large';
  throw new ApiError('invalid_request', `${field} ${message}.`, { errors: [{ pointer: `/${field}`, message }] });
};

export const update: Operation<'agents.update'> = async ({ db, keys }, { caller, params, body }) => {
  const agent = await db.transaction(async (trx) => {
    const agent = await getOwnAgentForUpdate(trx, caller.userId, params.id);
    if (Object.keys(body).length === 0) return agent;
    const { channels: sent, capabilities, ...fields } = body;
    const { channels, sealedBotToken } = takeBotToken(keys, agent.id, sent ?? {});
    return changeAgent(trx, agent.id, {
      ...fields,
      ...(sent ? { channels: requireBounded('channels', mergeByKey(agent.channels, channels)) } : {}),
      ...(capabilities
        ? { capabilities: requireBounded('capabilities', mergeByKey(agent.capabilities, capabilities)) }
        : {}),
      ...(sealedBotToken === undefined ? {} : { sealedBotToken }),
    });
  });
  return { status: 200, body: presentAgent(agent) };
};
