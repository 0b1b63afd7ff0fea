import { LRUCache } from 'lru-cache';
import type { Auth } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import type { Caller, RuntimeCaller, UserCaller } from '../operations/operation.js';

/** How bearers become callers; handed in by server.ts. Each throws ApiError when the bearer is no good. */
export interface Recognizers {
  /** A bearer of the identity provider. `expiresAt` in milliseconds since the epoch. */
  user(token: string): Promise<{ caller: UserCaller; expiresAt: number }>;
  /** A token of ours that speaks for a user; asked every time, so a revoked one is dead at once. */
  session(token: string): Promise<UserCaller>;
  /** A runtime access token; asked every time, so a revoked one is dead at once. */
  runtime(token: string): Promise<RuntimeCaller>;
}

/** All tokens that we issue begin with it. */
const OUR_PREFIX = 'acp_';
const REMEMBERED = 10_000;
/** A verified bearer is not verified again for so long; its own expiry cuts this short. */
const MEMORY_MS = 60_000;
const MAX_TOKEN_LENGTH = 8_192;

/** The token of an Authorization header, or what was sent instead of one. */
export const tokenIn = (header: string): string => /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? header;

const bearerOf = (header: string): string => {
  if (header === '') throw new ApiError('unauthenticated', 'Send a bearer token in the Authorization header.');
  const match = /^Bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(header);
  if (!match?.[1] || match[1].length > MAX_TOKEN_LENGTH)
    throw new ApiError('unauthenticated', 'The Authorization header is not `Bearer <token>`.', { tokenSent: true });
  return match[1];
};

/** Tells who calls, by the kind of token that the endpoint takes. Only bearers whose signature was verified are remembered: nothing that can be revoked. */
export const makeAuthenticate = (recognize: Recognizers) => {
  const remembered = new LRUCache<string, UserCaller>({ max: REMEMBERED });

  const user = async (token: string): Promise<UserCaller> => {
    if (token.startsWith(OUR_PREFIX)) return recognize.session(token);
    const known = remembered.get(token);
    if (known) return known;
    const { caller, expiresAt } = await recognize.user(token);
    const ttl = Math.min(MEMORY_MS, expiresAt - Date.now());
    if (ttl > 0) remembered.set(token, caller, { ttl });
    return caller;
  };

  return async (auth: Auth, header: string): Promise<Caller | null> => {
    switch (auth) {
      case 'none':
        return null;
      case 'user':
      case 'operator':
        return user(bearerOf(header));
      case 'runtime':
        return recognize.runtime(bearerOf(header));
      case 'gateway':
        throw new ApiError('unauthenticated', 'Gateway tokens open nothing yet.', { tokenSent: true });
    }
  };
};

export type Authenticate = ReturnType<typeof makeAuthenticate>;
