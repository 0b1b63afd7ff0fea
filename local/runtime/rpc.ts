import { createHash } from 'node:crypto';
import type { SignOn } from './sign-on.js';

/** A gateway request as `POST /api/v1/admin/rpc` carries it. */
export interface RpcAnswer {
  status: number;
  body: Record<string, unknown>;
}

export interface RpcFacts {
  agentId: string;
  runtimeId: string;
  runtimeVersion: string;
  startedAt: Date;
  signOn: SignOn;
}

type Method = (facts: RpcFacts) => Record<string, unknown>;

const METHODS: Record<string, Method> = {
  health: (facts) => ({ ok: true, uptimeMs: Date.now() - facts.startedAt.getTime() }),
  status: (facts) => ({
    agentId: facts.agentId,
    runtimeId: facts.runtimeId,
    runtimeVersion: facts.runtimeVersion,
    ready: facts.signOn.session !== undefined,
    startedAt: facts.startedAt.toISOString(),
    channels: {},
  }),
  'config.get': () => {
    const config = { channels: {} };
    return { hash: createHash('sha256').update(JSON.stringify(config)).digest('hex'), config };
  },
};

/** Answers one gateway request; anything that is not a known call is INVALID_REQUEST (400). */
export function answerRpc(text: string, facts: RpcFacts): RpcAnswer {
  const request = parse(text);
  if (request === undefined) return refuse(undefined, 'the body is not a request object');
  const { id, method } = request;
  if (typeof method !== 'string') return refuse(id, 'method is not a string');
  if (!Object.hasOwn(METHODS, method)) return refuse(id, 'unknown method');
  const payload = METHODS[method]?.(facts) ?? {};
  return { status: 200, body: { ...withId(id), ok: true, payload } };
}

function refuse(id: unknown, message: string): RpcAnswer {
  return {
    status: 400,
    body: { ...withId(id), ok: false, error: { code: 'INVALID_REQUEST', message } },
  };
}

function withId(id: unknown): { id?: string | number } {
  return typeof id === 'string' || typeof id === 'number' ? { id } : {};
}

function parse(text: string): { id?: unknown; method?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
