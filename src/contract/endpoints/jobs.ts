import { z } from 'zod';
import { Id, NextCursor, Page } from '../common.js';
import { endpoint } from '../endpoint.js';
import { Job, JobKind, JobStatus } from '../shapes/job.js';

const JobId = z.object({ id: Id('job') });

export const jobs = [
  endpoint({
    id: 'jobs.list',
    http: 'GET /api/jobs',
    auth: 'user',
    scope: 'agents',
    title: 'List jobs',
    about: "The caller's jobs, newest first; also those of agents that are gone.",
    input: {
      query: z.object({
        ...Page,
        agentId: Id('agent').optional(),
        kind: JobKind.optional(),
        status: JobStatus.optional(),
      }),
    },
    output: { 200: z.strictObject({ jobs: z.array(Job), nextCursor: NextCursor }) },
    errors: [],
    effect: 'read',
    names: { tool: false, command: 'jobs list', task: false },
  }),
  endpoint({
    id: 'jobs.get',
    http: 'GET /api/jobs/:id',
    auth: 'user',
    scope: 'agents',
    title: 'Read a job',
    about:
      'One job; with `Prefer: wait=N` the answer is held until the job ends or N seconds (60 at most) have passed. What a command or a log said is in the result of this answer alone, and only for sessions with the scope `agents`.',
    input: { params: JobId },
    output: { 200: Job },
    errors: [],
    waits: true,
    effect: 'read',
    names: { tool: false, command: 'jobs get', task: false },
  }),
  endpoint({
    id: 'jobs.events',
    http: 'GET /api/jobs/:id/events',
    auth: 'user',
    scope: 'agents',
    title: 'Watch a job',
    about:
      'Server-Sent Events: a `job` event with the whole job at each change, its id the version of the row; `Last-Event-ID` resumes; ends at the final state.',
    input: { params: JobId },
    output: { 200: Job },
    errors: [],
    effect: 'read',
    events: true,
    names: { tool: false, command: 'jobs watch', task: false },
  }),
  endpoint({
    id: 'jobs.cancel',
    http: 'POST /api/jobs/:id/cancel',
    auth: 'user',
    scope: 'agents',
    title: 'Cancel a job',
    about: 'Asks the job to stop and undo what it did. The job ends `canceled` when that is done.',
    input: { params: JobId },
    output: { 202: z.strictObject({ ok: z.literal(true), job: Job }) },
    errors: ['conflict'],
    effect: 'write',
    names: { tool: false, command: 'jobs cancel', task: false },
  }),
] as const;
