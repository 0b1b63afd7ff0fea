import type { Session } from '../contract/shapes/session.js';
import type { TokenFamily } from '../models/token-family.js';
import { toTimestamp, toTimestampOrNull } from './timestamp.js';

export const presentSession = (family: TokenFamily, currentId: string | null): Session => ({
  id: family.id,
  kind: family.kind === 'runtime' ? 'token' : family.kind, // runtimes are never listed among sessions
  name: family.name,
  scopes: family.scopes,
  address: family.address,
  createdAt: toTimestamp(family.createdAt),
  lastUsedAt: toTimestampOrNull(family.lastUsedAt),
  expiresAt: toTimestamp(family.refreshExpiresAt ?? family.expiresAt),
  current: family.id === currentId,
});
