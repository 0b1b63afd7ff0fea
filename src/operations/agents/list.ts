import { listOwnAgents } from '../../models/shown-agent.js';
import { presentAgent } from '../../presenters/agent.js';
import { DEFAULT_LIMIT, fromCursor, toPage } from '../cursor.js';
import type { Operation } from '../operation.js';

export const list: Operation<'agents.list'> = async ({ db }, { caller, query }) => {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const agents = await listOwnAgents(db, caller.userId, limit + 1, fromCursor(query.cursor));
  const { rows, nextCursor } = toPage(agents, limit);
  return { status: 200, body: { agents: rows.map(presentAgent), nextCursor } };
};
