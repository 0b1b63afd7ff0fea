import { endpoint } from '../endpoint.js';
import { BootstrapExchange, RuntimeAuthStatus, RuntimeSession } from '../shapes/runtime.js';

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
    errors: ['unauthenticated'],
    effect: 'write',
    secretOutput: true,
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
] as const;
