import { ApiError } from '../../contract/errors.js';
import { readOwnAgent } from '../../models/shown-agent.js';
import { presentAgent } from '../../presenters/agent.js';
import type { Operation } from '../operation.js';

export const get: Operation<'agents.get'> = async ({ db }, { caller, params }) => {
  const agent = await readOwnAgent(db, caller.userId, params.id);
  if (!agent) throw new ApiError('not_found', 'There is no such agent.');
  return { status: 200, body: presentAgent(agent) };
};
