import type { Agent as AgentResource, AgentState } from '../contract/shapes/agent.js';
import type { MovingKind } from '../contract/shapes/job.js';
import type { Agent } from '../models/agent.js';
import type { Job } from '../models/job.js';
import type { ShownAgent } from '../models/shown-agent.js';
import { ownerMessage } from '../rules/job-advice.js';
import { presentJob } from './job.js';
import { toTimestamp } from './timestamp.js';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The bot token itself is never shown, only that there is one. */
const presentChannels = (agent: ShownAgent): Record<string, unknown> => {
  if (agent.sealedBotToken === null) return agent.channels;
  const messengerA = isRecord(agent.channels['messengerA']) ? agent.channels['messengerA'] : {};
  return { ...agent.channels, messengerA: { ...messengerA, hasBotToken: true } };
};

/** What leads the agent out of its error, as far as the agent itself tells. */
const wayOutOf = ({ desiredStatus, hostMachineId }: ShownAgent): MovingKind => {
  if (desiredStatus === 'deleted') return 'agent.delete';
  if (hostMachineId === null) return 'agent.provision';
  return desiredStatus === 'offline' ? 'agent.stop' : 'agent.start';
};

/** A job's error is told as the job tells it; what was seen at the host says for itself what it was. */
const presentLastError = (agent: ShownAgent): AgentResource['lastError'] => {
  const { lastError } = agent;
  if (lastError === null || lastError.jobId === null) return lastError;
  return { ...lastError, message: ownerMessage(wayOutOf(agent), { ...lastError, needsOperator: false }) };
};

export const presentAgent = (agent: ShownAgent): AgentResource => ({
  id: agent.id,
  userId: agent.userId,
  name: agent.name,
  persona: agent.persona,
  avatar: agent.avatar,
  status: agent.status,
  plan: agent.plan,
  hostAppName: agent.hostAppName,
  hostMachineId: agent.hostMachineId,
  hostVolumeId: agent.hostVolumeId,
  gatewayUrl: agent.gatewayUrl,
  channels: presentChannels(agent),
  capabilities: agent.capabilities,
  usageMessages: agent.usageMessages,
  usageTokensUsed: agent.usageTokensUsed,
  region: agent.region,
  runtimeVersion: agent.runtimeVersion,
  desiredStatus: agent.desiredStatus,
  lastError: presentLastError(agent),
  activeJobId: agent.activeJobId,
  clonedFromAgentId: agent.clonedFromAgentId,
  createdAt: toTimestamp(agent.createdAt),
  updatedAt: toTimestamp(agent.updatedAt),
});

export const presentAgentState = (agent: Agent, job: Job | undefined): AgentState => ({
  agentId: agent.id,
  status: agent.status,
  desiredStatus: agent.desiredStatus,
  machine: agent.machine,
  gateway:
    agent.gatewayCheckedAt === null
      ? null
      : { ready: agent.gatewayReady === true, checkedAt: toTimestamp(agent.gatewayCheckedAt) },
  job: job ? presentJob(job) : null,
  updatedAt: toTimestamp(agent.updatedAt),
});
