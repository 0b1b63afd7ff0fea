import type {
  RuntimeIdentity as IdentityResource,
  RuntimeSession as SessionResource,
} from '../contract/shapes/runtime.js';
import type { RuntimeIdentity } from '../models/runtime-identity.js';
import type { FamilyTokens } from '../models/token-family.js';
import { toTimestamp, toTimestampOrNull } from './timestamp.js';

export const presentRuntimeIdentity = (identity: RuntimeIdentity): IdentityResource => ({
  id: identity.id,
  agentId: identity.agentId,
  status: identity.status,
  runtimeReleaseVersion: identity.runtimeReleaseVersion,
  revokedAt: toTimestampOrNull(identity.revokedAt),
  createdAt: toTimestamp(identity.createdAt),
  updatedAt: toTimestamp(identity.updatedAt),
  isActive: identity.status === 'active',
});

export const presentRuntimeSession = (
  identity: RuntimeIdentity,
  { family, accessToken, refreshToken }: FamilyTokens,
): SessionResource => ({
  tokenType: 'Bearer',
  runtimeId: identity.id,
  agentId: identity.agentId,
  userId: family.userId,
  runtimeVersion: identity.runtimeReleaseVersion,
  accessToken,
  accessTokenExpiresAt: toTimestamp(family.accessExpiresAt),
  refreshToken,
  refreshTokenExpiresAt: toTimestamp(family.refreshExpiresAt ?? family.expiresAt),
});
