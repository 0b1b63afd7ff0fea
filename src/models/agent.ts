import { Model, raw, type Transaction } from 'objection';
import type { AgentState, AgentStatus, DesiredStatus, LastError } from '../contract/shapes/agent.js';
import type { Db } from '../db/knex.js';
import type { Sealed } from './sealed.js';

export class Agent extends Model {
  static override tableName = 'agents';
  static override jsonAttributes = ['channels', 'capabilities', 'sealedBotToken', 'lastError', 'machine'];
  declare id: string;
  declare userId: string;
  declare name: string;
  declare persona: string;
  declare avatar: string;
  declare plan: string;
  declare channels: Record<string, unknown>;
  declare capabilities: Record<string, unknown>;
  declare sealedBotToken: Sealed | null;
  declare status: AgentStatus;
  declare desiredStatus: DesiredStatus;
  declare lastError: LastError | null;
  declare hostName: string;
  declare hostAppName: string | null;
  declare hostVolumeId: string | null;
  declare hostMachineId: string | null;
  declare hostSecretsVersion: number | null;
  declare provisionedAt: Date | null;
  declare region: string | null;
  declare gatewayUrl: string | null;
  declare generation: number;
  declare runtimeVersion: string | null;
  declare machine: AgentState['machine'];
  declare machineSeenAt: Date | null;
  declare machineUpdatedAt: Date | null;
  declare lookOwedAt: Date | null;
  declare gatewayReady: boolean | null;
  declare gatewayCheckedAt: Date | null;
  declare activeJobId: string | null;
  declare holderJobId: string | null;
  declare clonedFromAgentId: string | null;
  declare usageMessages: number;
  declare usageTokensUsed: number;
  declare createdAt: Date;
  declare updatedAt: Date;
  declare deletedAt: Date | null;

  /** The agent has, or had, a machine of its own. */
  get isProvisioned(): boolean {
    return this.provisionedAt !== null || this.hostMachineId !== null;
  }
}

/** Which of these ids are those of agents, deleted ones too. */
export const knownIds = async (db: Db, ids: string[]): Promise<Set<string>> => {
  const rows = await Agent.query(db).whereRaw('id = any(?)', [ids]).select('id');
  return new Set(rows.map(({ id }) => id));
};

/** One lock for everything that moves the machine; deletion has its own and comes on top. */
export const agentLock = (agentId: string): string => `agent:${agentId}`;
export const agentDeleteLock = (agentId: string): string => `agent:${agentId}:delete`;

const ownAgents = (db: Db | Transaction, userId: string) => Agent.query(db).where({ userId }).whereNull('deletedAt');

/** The user's agent; another user's is as absent as one that does not exist. */
export const findOwnAgent = async (db: Db | Transaction, userId: string, id: string): Promise<Agent | undefined> =>
  ownAgents(db, userId).findById(id);

/** The same, locked until the transaction ends: operations on one agent decide one after the other. */
export const findOwnAgentForUpdate = async (trx: Transaction, userId: string, id: string): Promise<Agent | undefined> =>
  ownAgents(trx, userId).findById(id).forUpdate();

export const countOwnAgents = (db: Db | Transaction, userId: string): Promise<number> =>
  ownAgents(db, userId).resultSize();

export const changeAgent = async (trx: Db | Transaction, id: string, changes: Partial<Agent>): Promise<Agent> => {
  const rows = await Agent.query(trx)
    .patch({ ...changes, updatedAt: raw('now()') })
    .where({ id })
    .returning('*');
  if (!rows[0]) throw new Error(`agent ${id} is not there`);
  return rows[0];
};

/** Raised when a job's activity touches an agent that another job holds by now: its result must change nothing. */
export class NotHolder extends Error {
  override name = 'NotHolder';
}

/** The agent, if this job is the one that may write it. */
export const heldAgent = async (db: Db | Transaction, jobId: string, agentId: string): Promise<Agent> => {
  const agent = await Agent.query(db).findById(agentId).where({ holderJobId: jobId });
  if (!agent) throw new NotHolder(`job ${jobId} does not hold agent ${agentId}`);
  return agent;
};

/** The same, locked, and only while no later job was accepted. */
export const heldAgentForUpdate = async (trx: Transaction, jobId: string, agentId: string): Promise<Agent> => {
  const agent = await Agent.query(trx).findById(agentId).where({ holderJobId: jobId, activeJobId: jobId }).forUpdate();
  if (!agent) throw new NotHolder(`job ${jobId} was superseded at agent ${agentId}`);
  return agent;
};

/** Writes the agent under the fence; a late result of a job that lost it is refused. */
export const changeHeldAgent = async (
  db: Db | Transaction,
  jobId: string,
  agentId: string,
  changes: Partial<Agent>,
): Promise<Agent> => {
  const rows = await Agent.query(db)
    .patch({ ...changes, updatedAt: raw('now()') })
    .where({ id: agentId, holderJobId: jobId })
    .returning('*');
  if (!rows[0]) throw new NotHolder(`job ${jobId} does not hold agent ${agentId}`);
  return rows[0];
};
