import { z } from 'zod';
import { Id, Name, NextCursor, Page } from '../common.js';
import { endpoint } from '../endpoint.js';
import { Job } from '../shapes/job.js';
import { Orphan } from '../shapes/orphan.js';

const JobId = z.object({ id: Id('job') });
const Reason = z.strictObject({ reason: Name(500).describe('Kept in the audit trail') });

export const operator = [
  endpoint({
    id: 'operator.attention.list',
    http: 'GET /api/operator/attention',
    auth: 'operator',
    title: 'List what needs an operator',
    about:
      'Jobs that failed in a way that asking again alone does not mend, newest first, until somebody has attended to them; and apps at the host that are ours and belong to no agent, until they are reaped.',
    input: { query: z.object(Page) },
    output: {
      200: z.strictObject({
        attention: z.array(
          z.strictObject({
            job: Job,
            advice: z.string().describe('What to do about it'),
            agent: z
              .strictObject({ id: Id('agent'), name: z.string(), status: z.string(), userId: Id('user') })
              .nullable(),
          }),
        ),
        nextCursor: NextCursor,
        orphans: z.array(Orphan).describe('The oldest 100, whatever the page'),
      }),
    },
    errors: [],
    effect: 'read',
    names: { tool: false, command: 'admin attention', task: false },
  }),
  endpoint({
    id: 'operator.jobs.retry',
    http: 'POST /api/operator/jobs/:id/retry',
    auth: 'operator',
    title: 'Retry a job',
    about: 'Starts a job of the same kind on the same agent in place of one that needs an operator.',
    input: { params: JobId, body: Reason },
    output: { 202: z.strictObject({ ok: z.literal(true), job: Job }) },
    errors: ['conflict', 'operation_in_progress'],
    keyed: true,
    effect: 'write',
    names: { tool: false, command: 'admin retry', task: false },
  }),
  endpoint({
    id: 'operator.jobs.resolve',
    http: 'POST /api/operator/jobs/:id/resolve',
    auth: 'operator',
    title: 'Resolve a job',
    about: 'Takes a job off the list because it was attended to in another way.',
    input: { params: JobId, body: Reason },
    output: { 200: z.strictObject({ ok: z.literal(true), job: Job }) },
    errors: ['conflict'],
    effect: 'write',
    names: { tool: false, command: 'admin resolve', task: false },
  }),
] as const;
