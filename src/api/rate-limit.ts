import { LRUCache } from 'lru-cache';
import type { ParameterizedContext } from 'koa';
import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import type { RequestState } from './context.js';
import { type Taken, TokenBuckets } from './token-buckets.js';

/** Requests of one principal, or of one network where nobody is known. Guesses have limits of their own, in the database. */
const budgets = {
  read: { size: 600, seconds: 60 },
  write: { size: 120, seconds: 60 },
  /** Machines may share an address; what they could guess is limited by itself. */
  machine: { size: 600, seconds: 60 },
  'device-start': { size: 10, seconds: 60 },
  /** Calls that were refused for their token, or for having none. */
  'bad-token': { size: 120, seconds: 60 },
} as const;
type BudgetName = keyof typeof budgets;

const KNOWN_TOKENS = 10_000;

const budgetOf = (endpoint: EndpointRecord): BudgetName => {
  if (endpoint.id === 'auth.device.start') return 'device-start';
  if (endpoint.auth === 'none' && endpoint.id.startsWith('runtime.')) return 'machine';
  return endpoint.effect === 'read' ? 'read' : 'write';
};

type Ctx = ParameterizedContext<RequestState>;

/** Budgets of this process: each is told in the RateLimit fields, and refuses beyond what it holds. */
export interface RateLimits {
  /** Counts a request of whoever it is. */
  count(ctx: Ctx, endpoint: EndpointRecord, principal: string): void;
  /** Refuses a bearer never seen to be good when its network has sent too many bad ones: it is not even looked up. */
  requireFewBadTokens(ctx: Ctx, network: string, token: string): void;
  /** Counts a bearer that was refused against its network. One that was good before is told why, however many bad ones there are: it must learn that it has expired. */
  countBadToken(ctx: Ctx, network: string, token: string): void;
  /** A bearer that was good: bad neighbours do not shut it out from now on. It is still looked up each time. Also one that was just given out. */
  noteGoodToken(token: string): void;
}

/** A token may be 8 KiB long; what is remembered of it is short: all of ours, of a JWT the end of its signature. */
const nameOf = (token: string): string => (token.length <= 128 ? token : token.slice(-96));

const nothing = () => undefined;
const unlimited: RateLimits = {
  count: nothing,
  requireFewBadTokens: nothing,
  countBadToken: nothing,
  noteGoodToken: nothing,
};

export const makeRateLimits = (enabled: boolean): RateLimits => {
  if (!enabled) return unlimited;
  const buckets = new Map<BudgetName, TokenBuckets>();
  const bucketsOf = (name: BudgetName): TokenBuckets => {
    const known = buckets.get(name);
    if (known) return known;
    const made = new TokenBuckets(budgets[name].size, budgets[name].seconds);
    buckets.set(name, made);
    return made;
  };
  const goodTokens = new LRUCache<string, true>({ max: KNOWN_TOKENS });

  const tell = (ctx: Ctx, name: BudgetName, { ok, left, waitMs, fullInMs }: Taken): void => {
    const { size, seconds } = budgets[name];
    ctx.set('RateLimit-Policy', `"${name}";q=${size};w=${seconds}`);
    ctx.set('RateLimit', `"${name}";r=${left};t=${Math.max(1, Math.ceil((ok ? fullInMs : waitMs) / 1_000))}`);
    if (!ok)
      throw new ApiError('rate_limited', `More than ${size} requests in ${seconds} s.`, {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
      });
  };

  return {
    count(ctx, endpoint, principal) {
      const name = budgetOf(endpoint);
      tell(ctx, name, bucketsOf(name).take(principal));
    },
    requireFewBadTokens(ctx, network, token) {
      if (goodTokens.has(nameOf(token))) return;
      const standing = bucketsOf('bad-token').look(network);
      if (!standing.ok) tell(ctx, 'bad-token', standing);
    },
    countBadToken(ctx, network, token) {
      const taken = bucketsOf('bad-token').take(network);
      if (!goodTokens.delete(nameOf(token))) tell(ctx, 'bad-token', taken);
    },
    noteGoodToken(token) {
      const name = nameOf(token);
      if (!goodTokens.has(name)) goodTokens.set(name, true);
    },
  };
};
