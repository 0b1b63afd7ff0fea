import { z } from 'zod';
import { Id, Name, Timestamp } from '../common.js';

/** What a session may do; `*` is everything its user may. */
export const sessionScopes = ['*', 'read', 'agents', 'billing', 'spend:approve', 'runtime'] as const;
export const SessionScope = z.enum(sessionScopes);
export type SessionScope = z.infer<typeof SessionScope>;

export const Scopes = z
  .array(SessionScope)
  .min(1)
  .max(sessionScopes.length)
  .refine((scopes) => new Set(scopes).size === scopes.length, 'must not name a scope twice')
  .describe('`*` everything; `read` all reading; the others what their name says');

export const SessionKind = z.enum(['cli', 'mcp', 'token']);
export type SessionKind = z.infer<typeof SessionKind>;

/** A signed-in device, or a named token for automation. */
export const Session = z
  .strictObject({
    id: Id('session'),
    kind: SessionKind,
    name: z.string(),
    scopes: z.array(SessionScope),
    address: z.string().nullable().describe('Where it was asked for from'),
    createdAt: Timestamp,
    lastUsedAt: Timestamp.nullable(),
    expiresAt: Timestamp,
    current: z.boolean().describe('It is the one that asks'),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof Session>;

export const NewToken = z.strictObject({
  name: Name(100),
  scopes: Scopes,
  expiresInDays: z.number().int().min(1).max(366),
});

/** spec.md 2.2 */
export const TokenPair = z
  .strictObject({
    status: z.literal('authorized'),
    tokenType: z.literal('Bearer'),
    accessToken: z.string(),
    accessTokenExpiresAt: Timestamp,
    refreshToken: z.string(),
    refreshTokenExpiresAt: Timestamp,
    userId: Id('user'),
    plan: z.string(),
  })
  .meta({ id: 'TokenPair' });
export type TokenPair = z.infer<typeof TokenPair>;

export const RefreshToken = z.object({ refreshToken: z.string().max(256) });
