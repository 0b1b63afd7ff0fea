import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.js';

interface Bucket {
  tokens: number;
  at: number;
}

/** The real host's limits (providers.md): by verb and machine, reads apart, app deletions together. */
export function makeRateLimits(): (request: IncomingMessage) => void {
  const buckets = new Map<string, Bucket>();
  return (request) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const limit = limitOf(request.method ?? 'GET', path);
    if (limit === undefined) return;
    const now = Date.now();
    const bucket = buckets.get(limit.key) ?? { tokens: limit.burst, at: now };
    const refilled = bucket.tokens + ((now - bucket.at) / 1_000) * limit.perSecond;
    const tokens = Math.min(limit.burst, refilled) - 1;
    if (tokens >= 0) return void buckets.set(limit.key, { tokens, at: now });
    const retryAfter = Math.ceil(-tokens / limit.perSecond);
    throw new Refusal(429, 'rate limit exceeded', 'unknown', { 'retry-after': String(retryAfter) });
  };
}

function limitOf(method: string, path: string): { key: string; perSecond: number; burst: number } | undefined {
  const key = `${method} ${path}`;
  if (/^\/v1\/apps\/[^/]+\/machines\/[^/]+/.test(path)) {
    return method === 'GET' ? { key, perSecond: 5, burst: 10 } : { key, perSecond: 1, burst: 3 };
  }
  if (method === 'DELETE' && /^\/v1\/apps\/[^/]+$/.test(path)) {
    return { key: 'DELETE app', perSecond: 100 / 60, burst: 100 };
  }
  return undefined;
}
