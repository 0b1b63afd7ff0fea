import { z } from 'zod';
import { FreeObject, Id, Name, Text, Timestamp } from '../common.js';
import { Job } from './job.js';

export const AgentStatus = z.enum([
  'offline',
  'provisioning',
  'starting',
  'online',
  'stopping',
  'updating',
  'error',
  'deleting',
]);
export type AgentStatus = z.infer<typeof AgentStatus>;

export const DesiredStatus = z.enum(['online', 'offline', 'deleted']);
export type DesiredStatus = z.infer<typeof DesiredStatus>;

export const LastError = z.strictObject({
  code: z.string(),
  message: z.string(),
  at: Timestamp,
  jobId: Id('job').nullable(),
});
export type LastError = z.infer<typeof LastError>;

/** spec.md 2.4, with the fields that contract and lifecycle add. */
export const Agent = z
  .strictObject({
    id: Id('agent'),
    userId: Id('user'),
    name: z.string(),
    persona: z.string(),
    avatar: z.string(),
    status: AgentStatus,
    plan: z.string(),
    hostAppName: z.string().nullable(),
    hostMachineId: z.string().nullable(),
    hostVolumeId: z.string().nullable(),
    gatewayUrl: z.string().nullable(),
    channels: z.record(z.string(), z.unknown()),
    capabilities: z.record(z.string(), z.unknown()),
    usageMessages: z.number().int(),
    usageTokensUsed: z.number().int(),
    region: z.string().nullable(),
    runtimeVersion: z.string().nullable(),
    desiredStatus: DesiredStatus,
    lastError: LastError.nullable(),
    activeJobId: Id('job').nullable(),
    clonedFromAgentId: Id('agent').nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

const writable = {
  name: Name(200),
  persona: Text(20_000).describe('Who the agent is, in its own words'),
  avatar: Text(2_048).describe('An address or an emoji'),
  channels: FreeObject,
  capabilities: FreeObject,
};

export const NewAgent = z.strictObject({
  name: writable.name,
  persona: writable.persona.optional(),
  avatar: writable.avatar.optional(),
  plan: z.string().max(40).optional().describe("One of the plan codes, at most the owner's own"),
  channels: writable.channels.optional(),
  capabilities: writable.capabilities.optional(),
});
export type NewAgent = z.infer<typeof NewAgent>;

/** `channels` and `capabilities` are merged by key (RFC 7396): null removes. */
export const AgentChanges = z.strictObject(writable).partial();
export type AgentChanges = z.infer<typeof AgentChanges>;

export const AgentClone = z.strictObject({
  name: writable.name.optional().describe('`<name> (copy)` unless told'),
});

export const AgentJob = z.strictObject({
  ok: z.boolean().describe('False when the job ended without success'),
  agent: Agent,
  job: Job.nullable(),
});

export const AgentState = z.strictObject({
  agentId: Id('agent'),
  status: AgentStatus,
  desiredStatus: DesiredStatus,
  machine: z
    .strictObject({
      id: z.string(),
      state: z.string().describe("The host's own word, kept verbatim"),
      region: z.string().nullable(),
      createdAt: Timestamp.nullable(),
      checks: z.array(z.strictObject({ name: z.string(), status: z.string(), output: z.string() })),
    })
    .nullable(),
  gateway: z.strictObject({ ready: z.boolean(), checkedAt: Timestamp }).nullable(),
  job: Job.nullable(),
  updatedAt: Timestamp,
});
export type AgentState = z.infer<typeof AgentState>;

export const GatewayAccess = z.strictObject({ gatewayUrl: z.string(), gatewayToken: z.string() });
