import { z } from 'zod';
import { NextCursor, Page } from '../common.js';
import { endpoint } from '../endpoint.js';
import { BootstrapExchange, RuntimeAuthStatus, RuntimeIdentity, RuntimeSession } from '../shapes/runtime.js';
import { RefreshToken } from '../shapes/session.js';

export const runtime = [
  endpoint({
    id: 'runtime.bootstrap.exchange',
    http: 'POST /api/runtime/bootstrap/exchange',
    auth: 'none',
    title: 'Exchange a bootstrap token',
    about:
      'A machine trades the bootstrap token it was started with for runtime tokens. Repeatable with the same answer until the access token is first used.',
    input: { body: BootstrapExchange },
    output: { 200: RuntimeSession },
    errors: ['unauthenticated', 'rate_limited'],
    effect: 'write',
    secretOutput: true,
    names: { tool: false, command: false, task: false },
  }),
  endpoint({
    id: 'runtime.auth.refresh',
    http: 'POST /api/runtime/auth/refresh',
    auth: 'none',
    title: 'Refresh the runtime tokens',
    about:
      'Trades the refresh token for the next pair. The direct predecessor comes again within an hour while nothing of its successor was used: a machine may die before it saved.',
    input: { body: RefreshToken },
    output: { 200: RuntimeSession },
    errors: ['unauthenticated', 'token_expired', 'token_reused'],
    effect: 'write',
    secretOutput: true,
    names: { tool: false, command: false, task: false },
  }),
  endpoint({
    id: 'runtime.auth.revoke',
    http: 'POST /api/runtime/auth/revoke',
    auth: 'none',
    title: 'Revoke the runtime tokens',
    about:
      'Ends the family of this refresh token. Harmless when it has ended before; a restart of the machine opens a new one.',
    input: { body: RefreshToken },
    output: { 200: z.strictObject({ ok: z.literal(true) }) },
    errors: [],
    effect: 'write',
    names: { tool: false, command: false, task: false },
  }),
  endpoint({
    id: 'runtime.auth.status',
    http: 'GET /api/runtime/auth/status',
    auth: 'runtime',
    title: 'Read the runtime session',
    about: 'Which runtime the bearer is, for which agent, and how long its tokens live.',
    input: {},
    output: { 200: RuntimeAuthStatus },
    errors: [],
    effect: 'read',
    names: { tool: 'runtime_auth_status', command: 'runtime auth-status', task: 'runtime.auth-status' },
  }),
  endpoint({
    id: 'runtime.identities.list',
    http: 'GET /api/runtime/identities',
    auth: 'user',
    scope: 'runtime',
    title: 'List runtime identities',
    about: "The runtimes of the caller's agents, newest first; revoked ones only when asked for.",
    input: {
      query: z.object({
        ...Page,
        includeRevoked: z
          .enum(['true', 'false'])
          .transform((text) => text === 'true')
          .optional(),
      }),
    },
    output: { 200: z.strictObject({ identities: z.array(RuntimeIdentity), nextCursor: NextCursor }) },
    errors: [],
    effect: 'read',
    names: { tool: false, command: 'runtime identities', task: false },
  }),
] as const;
