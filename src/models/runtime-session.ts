import { Model, type Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import type { KeyRing } from './key-ring.js';
import { newId } from './new-id.js';
import { derivedToken, hashToken, isToken } from './opaque-token.js';
import { BootstrapToken, RuntimeIdentity } from './runtime-identity.js';

/** A family of runtime tokens; only hashes are kept, the tokens can be derived again. */
export class RuntimeSession extends Model {
  static override tableName = 'runtime_sessions';
  declare id: string;
  declare runtimeId: string;
  declare keyId: string;
  declare generation: number;
  declare accessExpiresAt: Date;
  declare refreshExpiresAt: Date;
  declare usedAt: Date | null;
  declare revokedAt: Date | null;
}

const ACCESS_LIFE = '1 hour';
const REFRESH_LIFE = '30 days';

export interface RuntimeTokens {
  session: RuntimeSession;
  accessToken: string;
  refreshToken: string;
}

const tokensOf = (keys: KeyRing, session: RuntimeSession): RuntimeTokens => ({
  session,
  accessToken: derivedToken(keys, session.keyId, 'runtimeAccess', session.id, session.generation),
  refreshToken: derivedToken(keys, session.keyId, 'runtimeRefresh', session.id, session.generation),
});

/** Starts a family for a runtime and ends the earlier ones: the machine that was started last is the one that counts. */
const openSession = async (trx: Transaction, keys: KeyRing, runtimeId: string): Promise<RuntimeSession> => {
  await trx('runtime_sessions').update({ revokedAt: trx.fn.now() }).where({ runtimeId }).whereNull('revokedAt');
  const id = newId('runtimeSession');
  const keyId = keys.currentId;
  await trx('runtime_sessions').insert({
    id,
    runtimeId,
    keyId,
    accessHash: hashToken(derivedToken(keys, keyId, 'runtimeAccess', id, 1)),
    accessExpiresAt: trx.raw(`now() + interval '${ACCESS_LIFE}'`),
    refreshHash: hashToken(derivedToken(keys, keyId, 'runtimeRefresh', id, 1)),
    refreshExpiresAt: trx.raw(`now() + interval '${REFRESH_LIFE}'`),
  });
  return RuntimeSession.query(trx).findById(id).throwIfNotFound();
};

/**
 * Trades a bootstrap token for the runtime's tokens; undefined when the token is not one of this runtime, expired or spent.
 * Repeatable with the same answer until the access token is first used: a reply may get lost on its way to the machine.
 */
export const exchangeBootstrapToken = async (
  trx: Transaction,
  keys: KeyRing,
  { runtimeId, bootstrapToken }: { runtimeId: string; bootstrapToken: string },
): Promise<RuntimeTokens | undefined> => {
  if (!isToken('bootstrap', bootstrapToken)) return undefined;
  const token = await BootstrapToken.query(trx)
    .findById(hashToken(bootstrapToken))
    .where({ runtimeId })
    .where('expiresAt', '>', trx.fn.now())
    .forUpdate();
  if (!token) return undefined;
  if (token.sessionId !== null) {
    const session = await RuntimeSession.query(trx).findById(token.sessionId).throwIfNotFound();
    return session.usedAt === null && session.revokedAt === null ? tokensOf(keys, session) : undefined;
  }
  const session = await openSession(trx, keys, runtimeId);
  await BootstrapToken.query(trx).findById(token.hash).patch({ sessionId: session.id });
  return tokensOf(keys, session);
};

export interface RuntimePrincipal {
  runtimeId: string;
  agentId: string;
  userId: string;
  sessionId: string;
}

interface PrincipalRow extends RuntimePrincipal {
  live: boolean;
  used: boolean;
}

/** Who a runtime access token speaks for: undefined = never issued or revoked, 'expired' = was good once. The first use spends the bootstrap token. */
export const findRuntimePrincipal = async (
  db: Db,
  accessToken: string,
): Promise<RuntimePrincipal | 'expired' | undefined> => {
  if (!isToken('runtimeAccess', accessToken)) return undefined;
  const row = await db('runtime_sessions as s')
    .join('runtime_identities as r', 'r.id', 's.runtime_id')
    .join('agents as a', 'a.id', 'r.agent_id')
    .where({ 's.access_hash': hashToken(accessToken), 'r.status': 'active' })
    .whereNull('s.revoked_at')
    .whereNull('a.deleted_at')
    .first<PrincipalRow | undefined>(
      's.id as sessionId',
      'r.id as runtimeId',
      'a.id as agentId',
      'a.user_id as userId',
      db.raw('s.access_expires_at > now() as live'),
      db.raw('s.used_at is not null as used'),
    );
  if (!row) return undefined;
  if (!row.live) return 'expired';
  if (!row.used)
    await db('runtime_sessions').update({ usedAt: db.fn.now() }).where({ id: row.sessionId, usedAt: null });
  const { live: _live, used: _used, ...principal } = row;
  return principal;
};

/** Marks the identity as in use by this release; pending → active. */
export const activateRuntime = async (
  trx: Transaction,
  runtimeId: string,
  version: string,
): Promise<RuntimeIdentity> => {
  await trx('runtime_identities')
    .update({ status: 'active', runtimeReleaseVersion: version, updatedAt: trx.fn.now() })
    .where({ id: runtimeId });
  await trx('agents')
    .update({ runtimeVersion: version, updatedAt: trx.fn.now() })
    .where('id', RuntimeIdentity.query(trx).select('agentId').findById(runtimeId).toKnexQuery());
  return RuntimeIdentity.query(trx).findById(runtimeId).throwIfNotFound();
};
