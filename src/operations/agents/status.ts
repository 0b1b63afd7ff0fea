import { Job } from '../../models/job.js';
import { presentAgentState } from '../../presenters/agent.js';
import type { Operation } from '../operation.js';
import { getOwnAgent } from './own-agent.js';

export const status: Operation<'agents.status'> = async ({ db }, { caller, params }) => {
  const agent = await getOwnAgent(db, caller.userId, params.id);
  const job = agent.activeJobId === null ? undefined : await Job.query(db).findById(agent.activeJobId);
  return { status: 200, body: presentAgentState(agent, job) };
};
