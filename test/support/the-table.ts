import { type EndpointRecord, type Method, methodAndPath } from '../../src/contract/endpoint.js';
import { endpoints } from '../../src/contract/index.js';

const absent = {
  agent: 'agt_01jd0000000000000000000000',
  job: 'job_01jd0000000000000000000000',
  session: 'ses_01jd0000000000000000000000',
} as const;
export type Named = keyof typeof absent;

export interface Row {
  endpoint: EndpointRecord;
  method: Method;
  /** The path with this resource in it; only its kind decides whether it fits. */
  path(id?: string): string;
  /** What the path names. */
  names: Named | 'nothing';
  /** A request that is valid as far as its shape goes. */
  body?: unknown;
}

const bodies: Record<string, unknown> = {
  'agents.create': { name: 'an agent' },
  'agents.run-command': { command: ['true'] },
  'auth.device.poll': { deviceCode: 'acp_dev_x' },
  'auth.device.approve': { userCode: 'BCDF-GHJK' },
  'auth.device.deny': { userCode: 'BCDF-GHJK' },
  'auth.refresh': { refreshToken: 'acp_urt_x' },
  'auth.logout': { refreshToken: 'acp_urt_x' },
  'auth.tokens.create': { name: 'a token', scopes: ['read'], expiresInDays: 1 },
  'runtime.auth.refresh': { refreshToken: 'acp_rrt_x' },
  'runtime.auth.revoke': { refreshToken: 'acp_rrt_x' },
  'operator.jobs.retry': { reason: 'because' },
  'operator.jobs.resolve': { reason: 'because' },
  'runtime.bootstrap.exchange': { runtimeId: 'rt_x', bootstrapToken: 'acp_boot_x', runtimeVersion: '1.0.0' },
};

const queries: Record<string, string> = { 'auth.device.lookup': '?userCode=BCDF-GHJK' };

const namedBy = (pattern: string): Named => {
  if (pattern.includes('/jobs/')) return 'job';
  return pattern.startsWith('/api/auth/sessions/') ? 'session' : 'agent';
};

const rowOf = (endpoint: EndpointRecord): Row => {
  const [method, pattern] = methodAndPath(endpoint);
  const names = endpoint.input.params === undefined ? 'nothing' : namedBy(pattern);
  const body = endpoint.input.body === undefined ? undefined : (bodies[endpoint.id] ?? {});
  if (body !== undefined && endpoint.input.body?.safeParse(body).success !== true)
    throw new Error(`test/support/the-table.ts needs a body that fits ${endpoint.id}`);
  return {
    endpoint,
    method,
    path: (id = names === 'nothing' ? '' : absent[names]) => pattern.replace(/:\w+/, id) + (queries[endpoint.id] ?? ''),
    names,
    ...(body === undefined ? {} : { body }),
  };
};

/** Every endpoint as the table-driven tests use it. They ask by path, so being in the table is not yet being called by a test. */
export const rows: Row[] = endpoints.map(rowOf);

export const authKinds = (...kinds: EndpointRecord['auth'][]): Row[] =>
  rows.filter(({ endpoint }) => kinds.includes(endpoint.auth));
