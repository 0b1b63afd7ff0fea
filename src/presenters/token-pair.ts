import type { TokenPair } from '../contract/shapes/session.js';
import type { FamilyTokens } from '../models/token-family.js';
import { toTimestamp } from './timestamp.js';

/** spec.md 2.2 */
export const presentTokenPair = ({ family, accessToken, refreshToken }: FamilyTokens, plan: string): TokenPair => ({
  status: 'authorized',
  tokenType: 'Bearer',
  accessToken,
  accessTokenExpiresAt: toTimestamp(family.accessExpiresAt),
  refreshToken,
  refreshTokenExpiresAt: toTimestamp(family.refreshExpiresAt ?? family.expiresAt),
  userId: family.userId,
  plan,
});
