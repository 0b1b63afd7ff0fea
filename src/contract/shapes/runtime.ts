import { z } from 'zod';
import { Id, Timestamp } from '../common.js';

/** Versions are semver without build metadata, at most 64 characters. */
export const Version = z
  .string()
  .max(64)
  .regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, 'must be a semantic version');

export const RuntimeStatus = z.enum(['pending', 'active', 'revoked']);
export type RuntimeStatus = z.infer<typeof RuntimeStatus>;

/** spec.md 2.8 */
export const RuntimeIdentity = z
  .strictObject({
    id: Id('runtime'),
    agentId: Id('agent'),
    status: RuntimeStatus,
    runtimeReleaseVersion: z.string(),
    revokedAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    isActive: z.boolean(),
  })
  .meta({ id: 'RuntimeIdentity' });
export type RuntimeIdentity = z.infer<typeof RuntimeIdentity>;

/** Sent by machines: unknown fields are ignored, so a newer runtime can talk to an older service. */
export const BootstrapExchange = z.object({
  runtimeId: z.string().max(64),
  bootstrapToken: z.string().max(256),
  runtimeVersion: Version,
});

/** spec.md 2.3 */
export const RuntimeSession = z
  .strictObject({
    tokenType: z.literal('Bearer'),
    runtimeId: Id('runtime'),
    agentId: Id('agent'),
    userId: Id('user'),
    runtimeVersion: z.string(),
    accessToken: z.string(),
    accessTokenExpiresAt: Timestamp,
    refreshToken: z.string(),
    refreshTokenExpiresAt: Timestamp,
  })
  .meta({ id: 'RuntimeSession' });
export type RuntimeSession = z.infer<typeof RuntimeSession>;

export const RuntimeAuthStatus = z.strictObject({
  ok: z.literal(true),
  runtime: RuntimeIdentity,
  agentId: Id('agent'),
  userId: Id('user'),
  session: z.strictObject({ accessTokenExpiresAt: Timestamp, refreshTokenExpiresAt: Timestamp }),
});
