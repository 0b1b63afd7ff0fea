import { z } from 'zod';
import { NextCursor, Page } from '../common.js';
import { endpoint } from '../endpoint.js';
import { AuditEvent } from '../shapes/audit-event.js';

export const audit = [
  endpoint({
    id: 'audit.list',
    http: 'GET /api/audit',
    auth: 'user',
    scope: '*',
    title: 'Read the audit trail',
    about: 'Who did what to what, newest first: their own account to a user, everything to an operator.',
    input: {
      query: z.object({
        ...Page,
        subject: z.string().max(64).optional().describe('Id of what was acted on'),
        action: z.string().max(64).optional(),
      }),
    },
    output: { 200: z.strictObject({ events: z.array(AuditEvent), nextCursor: NextCursor }) },
    errors: [],
    effect: 'read',
    names: { tool: false, command: 'audit list', task: false },
  }),
] as const;
