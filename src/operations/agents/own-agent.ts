import type { Transaction } from 'objection';
import { ApiError } from '../../contract/errors.js';
import type { Db } from '../../db/knex.js';
import { type Agent, findOwnAgent, findOwnAgentForUpdate } from '../../models/agent.js';

/** The caller's agent; not_found for anyone else's, as for one that does not exist. */
export const getOwnAgent = async (db: Db | Transaction, userId: string, id: string): Promise<Agent> => {
  const agent = await findOwnAgent(db, userId, id);
  if (!agent) throw new ApiError('not_found', 'There is no such agent.');
  return agent;
};

export const getOwnAgentForUpdate = async (trx: Transaction, userId: string, id: string): Promise<Agent> => {
  const agent = await findOwnAgentForUpdate(trx, userId, id);
  if (!agent) throw new ApiError('not_found', 'There is no such agent.');
  return agent;
};
