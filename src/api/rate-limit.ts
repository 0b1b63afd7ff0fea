import type { ParameterizedContext } from 'koa';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import type { RequestState } from './context.js';

interface Budget {
  /** Named in the headers. */
  name: string;
  points: number;
  seconds: number;
}

/** Requests of one principal, or of one address where nobody is known yet. Guesses have limits of their own, in the database. */
const budgets = {
  read: { name: 'read', points: 600, seconds: 60 },
  write: { name: 'write', points: 120, seconds: 60 },
  /** Machines may share an address; what they could guess is limited by itself. */
  machine: { name: 'machine', points: 600, seconds: 60 },
  deviceStart: { name: 'device-start', points: 10, seconds: 60 },
} as const satisfies Record<string, Budget>;

const budgetOf = (endpoint: EndpointRecord): Budget => {
  if (endpoint.id === 'auth.device.start') return budgets.deviceStart;
  if (endpoint.auth === 'none' && endpoint.id.startsWith('runtime.')) return budgets.machine;
  return endpoint.effect === 'read' ? budgets.read : budgets.write;
};

export type LimitRate = (
  ctx: ParameterizedContext<RequestState>,
  endpoint: EndpointRecord,
  principal: string,
) => Promise<void>;

/** Counts a request against its budget in this process, tells how much is left (RateLimit fields) and refuses beyond. */
export const makeRateLimit = (enabled: boolean): LimitRate => {
  if (!enabled) return () => Promise.resolve();
  const limiters = new Map<string, RateLimiterMemory>(
    Object.values(budgets).map(({ name, points, seconds }) => [
      name,
      new RateLimiterMemory({ points, duration: seconds }),
    ]),
  );
  return async (ctx, endpoint, principal) => {
    const { name, points, seconds } = budgetOf(endpoint);
    const taken = await limiters
      .get(name)
      ?.consume(principal)
      .catch((refused: unknown) => {
        if (refused instanceof RateLimiterRes) return refused;
        throw refused;
      });
    if (!taken) return;
    const resetSeconds = Math.max(1, Math.ceil(taken.msBeforeNext / 1_000));
    ctx.set('RateLimit-Policy', `"${name}";q=${points};w=${seconds}`);
    ctx.set('RateLimit', `"${name}";r=${taken.remainingPoints};t=${resetSeconds}`);
    if (taken.consumedPoints > points)
      throw new ApiError('rate_limited', `More than ${points} requests in ${seconds} s.`, {
        retryAfterSeconds: resetSeconds,
      });
  };
};
