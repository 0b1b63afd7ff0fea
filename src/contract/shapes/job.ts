import { z } from 'zod';
import { Id, Timestamp } from '../common.js';

/** What moves an agent's machine: one at a time, and the agent's status tells of it. */
export const movingKinds = [
  'agent.provision',
  'agent.start',
  'agent.stop',
  'agent.delete',
  'agent.rotate-gateway-token',
] as const;
export type MovingKind = (typeof movingKinds)[number];

/** What only talks to a machine that runs: several at once, in nobody's way, and the agent stays what it is. */
export const callKinds = ['agent.command', 'agent.logs'] as const;
export type CallKind = (typeof callKinds)[number];

/** Job kinds built so far; the workflow of each is named in src/jobs/kinds.ts. */
export const jobKinds = [...movingKinds, ...callKinds] as const;
export const JobKind = z.enum(jobKinds);
export type JobKind = z.infer<typeof JobKind>;

export const isCall = (kind: JobKind): kind is CallKind => (callKinds as readonly JobKind[]).includes(kind);

export const JobStatus = z.enum(['queued', 'running', 'succeeded', 'failed', 'canceled']);
export type JobStatus = z.infer<typeof JobStatus>;

export const JobStep = z.strictObject({
  name: z.string(),
  status: z.enum(['pending', 'running', 'done', 'failed', 'skipped']),
  attempts: z.number().int(),
  startedAt: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
});
export type JobStep = z.infer<typeof JobStep>;

export const JobError = z.strictObject({
  code: z.string(),
  message: z.string().describe('What happened and the way out; for operators, the words of the part that failed'),
  retryable: z.boolean(),
  needsOperator: z.boolean(),
});
export type JobError = z.infer<typeof JobError>;

export const Requester = z.strictObject({
  type: z.enum(['user', 'runtime', 'schedule', 'operator']),
  id: z.string(),
});
export type Requester = z.infer<typeof Requester>;

export const Job = z
  .strictObject({
    id: Id('job'),
    kind: z.string().describe('A later release may add kinds'),
    status: JobStatus,
    subject: z.strictObject({ type: z.string(), id: z.string() }),
    agentId: Id('agent').nullable(),
    step: z.string().nullable().describe('The step under way, or the last one'),
    steps: z.array(JobStep),
    result: z.record(z.string(), z.unknown()).nullable(),
    error: JobError.nullable(),
    cancelable: z.boolean(),
    requestedBy: Requester,
    workflowId: z.string().describe('The workflow in the Temporal UI'),
    createdAt: Timestamp,
    startedAt: Timestamp.nullable(),
    finishedAt: Timestamp.nullable(),
    deadlineAt: Timestamp.nullable(),
  })
  .meta({ id: 'Job' });
export type Job = z.infer<typeof Job>;
