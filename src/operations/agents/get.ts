import { presentAgent } from '../../presenters/agent.js';
import type { Operation } from '../operation.js';
import { getOwnAgent } from './own-agent.js';

export const get: Operation<'agents.get'> = async ({ db }, { caller, params }) => ({
  status: 200,
  body: presentAgent(await getOwnAgent(db, caller.userId, params.id)),
});
