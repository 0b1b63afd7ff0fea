import { z } from 'zod';
import { Job } from './job.js';

/** RFC 9457 with a stable `code`; the codes are those of errors.ts. */
export const Problem = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    requestId: z.string(),
    errors: z.array(z.strictObject({ pointer: z.string(), message: z.string() })).optional(),
    job: Job.optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof Problem>;
