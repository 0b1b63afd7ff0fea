import { type EndpointRecord, type Method, methodAndPath } from '../../src/contract/endpoint.js';
import { endpoints } from '../../src/contract/index.js';

export interface Row {
  endpoint: EndpointRecord;
  method: Method;
  /** The path with this resource in it; only its kind decides whether it fits. */
  path(id?: string): string;
  /** What the path names. */
  names: 'agent' | 'job' | 'nothing';
  /** A request that is valid as far as its shape goes. */
  body?: unknown;
}

const bodies: Record<string, unknown> = {
  'agents.create': { name: 'an agent' },
  'runtime.bootstrap.exchange': { runtimeId: 'rt_x', bootstrapToken: 'acp_boot_x', runtimeVersion: '1.0.0' },
};

const rowOf = (endpoint: EndpointRecord): Row => {
  const [method, pattern] = methodAndPath(endpoint);
  const names = endpoint.input.params === undefined ? 'nothing' : pattern.startsWith('/api/jobs/') ? 'job' : 'agent';
  const body = endpoint.input.body === undefined ? undefined : (bodies[endpoint.id] ?? {});
  if (body !== undefined && endpoint.input.body?.safeParse(body).success !== true)
    throw new Error(`test/support/the-table.ts needs a body that fits ${endpoint.id}`);
  return {
    endpoint,
    method,
    path: (id = names === 'job' ? 'job_01jd0000000000000000000000' : 'agt_01jd0000000000000000000000') =>
      pattern.replace(/:\w+/, id),
    names,
    ...(body === undefined ? {} : { body }),
  };
};

/** Every endpoint as the table-driven tests use it. They ask by path, so being in the table is not yet being called by a test. */
export const rows: Row[] = endpoints.map(rowOf);

export const authKinds = (...kinds: EndpointRecord['auth'][]): Row[] =>
  rows.filter(({ endpoint }) => kinds.includes(endpoint.auth));
