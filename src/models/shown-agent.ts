import type { Db } from '../db/knex.js';
import { columns, type Prepared, runPrepared } from '../db/prepared.js';
import type { Agent } from './agent.js';

/** The fields of an agent that its owner is shown. */
const fields = [
  'id',
  'userId',
  'name',
  'persona',
  'avatar',
  'status',
  'plan',
  'hostAppName',
  'hostMachineId',
  'hostVolumeId',
  'gatewayUrl',
  'channels',
  'sealedBotToken',
  'capabilities',
  'usageMessages',
  'usageTokensUsed',
  'region',
  'runtimeVersion',
  'desiredStatus',
  'lastError',
  'activeJobId',
  'clonedFromAgentId',
  'createdAt',
  'updatedAt',
] as const satisfies (keyof Agent)[];

export type ShownAgent = Pick<Agent, (typeof fields)[number]>;

const own: Prepared = {
  name: 'own_agent',
  text: `select ${columns(fields)} from agents where user_id = $1 and id = $2 and deleted_at is null`,
};

const page: Prepared = {
  name: 'own_agents',
  text: `select ${columns(fields)} from agents where user_id = $1 and deleted_at is null and ($2::text is null or id < $2)
          order by id desc limit $3`,
};

/** The user's agent, or nothing: another user's is as absent as one that does not exist. */
export const readOwnAgent = async (db: Db, userId: string, id: string): Promise<ShownAgent | undefined> =>
  (await runPrepared<ShownAgent>(db, own, [userId, id]))[0];

/** The user's agents, newest first, `limit` of those older than `before`. */
export const listOwnAgents = (db: Db, userId: string, limit: number, before?: string): Promise<ShownAgent[]> =>
  runPrepared(db, page, [userId, before ?? null, limit]);
