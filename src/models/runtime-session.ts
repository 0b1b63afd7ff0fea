import type { Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import { Agent } from './agent.js';
import type { KeyRing } from './key-ring.js';
import { hashToken, isToken } from './opaque-token.js';
import { BootstrapToken, RuntimeIdentity } from './runtime-identity.js';
import { type FamilyTokens, openFamily, revokeFamilies, TokenFamily, tokensOf } from './token-family.js';

/** The absolute end of what one start of a machine can do with its tokens. */
const LASTS_FOR = '90 days';

export interface RuntimeTokens extends FamilyTokens {
  identity: RuntimeIdentity;
}

/** The runtime of a family that is still somebody's: neither revoked nor of a deleted agent. */
export const findLiveRuntime = async (db: Db | Transaction, runtimeId: string): Promise<RuntimeIdentity | undefined> =>
  RuntimeIdentity.query(db)
    .findById(runtimeId)
    .whereNot({ status: 'revoked' })
    .whereIn('agentId', Agent.query(db).select('id').whereNull('deletedAt'));

/** Whether there ever was a runtime of this id. */
export const isRuntime = async (db: Db, id: string): Promise<boolean> =>
  (await RuntimeIdentity.query(db).findById(id).select('id')) !== undefined;

/** Marks the identity as in use by this release; pending → active. */
const activate = async (trx: Transaction, identity: RuntimeIdentity, version: string): Promise<RuntimeIdentity> => {
  await trx('runtime_identities')
    .update({ status: 'active', runtimeReleaseVersion: version, updatedAt: trx.fn.now() })
    .where({ id: identity.id });
  await trx('agents').update({ runtimeVersion: version, updatedAt: trx.fn.now() }).where({ id: identity.agentId });
  return RuntimeIdentity.query(trx).findById(identity.id).throwIfNotFound();
};

/**
 * Trades a bootstrap token for the runtime's tokens; undefined when the token is not one of this runtime, expired or spent.
 * Repeatable with the same answer until the access token is first used: a reply may get lost on its way to the machine.
 * A newer bootstrap token ends the families before it: the machine that was started last is the one that counts.
 */
export const exchangeBootstrapToken = async (
  trx: Transaction,
  keys: KeyRing,
  { runtimeId, bootstrapToken, runtimeVersion }: { runtimeId: string; bootstrapToken: string; runtimeVersion: string },
): Promise<(RuntimeTokens & { isNew: boolean }) | undefined> => {
  if (!isToken('bootstrap', bootstrapToken)) return undefined;
  // A wrong one locks nothing: whoever knows the id could hold the agent's row up.
  if (!(await BootstrapToken.query(trx).findById(hashToken(bootstrapToken)).where({ runtimeId }))) return undefined;
  // Lock order everywhere: the agent, then what its machine authenticates with.
  const { agentId } = (await RuntimeIdentity.query(trx).findById(runtimeId).select('agentId')) ?? {};
  if (agentId === undefined) return undefined;
  await Agent.query(trx).findById(agentId).select('id').forUpdate();
  const token = await BootstrapToken.query(trx)
    .findById(hashToken(bootstrapToken))
    .where({ runtimeId })
    .where('expiresAt', '>', trx.fn.now())
    .forUpdate();
  const runtime = token && (await findLiveRuntime(trx, runtimeId));
  if (!runtime) return undefined;
  if (token.familyId !== null) {
    const family = await TokenFamily.query(trx).findById(token.familyId).throwIfNotFound();
    const isUnused = family.usedAt === null && family.revokedAt === null && family.generation === 1;
    // Without its key the answer cannot be told again.
    return isUnused && keys.has(family.keyId)
      ? { ...tokensOf(keys, family), identity: runtime, isNew: false }
      : undefined;
  }
  await revokeFamilies(trx, { runtimeId }, 'replaced');
  const { userId } = await Agent.query(trx).findById(runtime.agentId).select('userId').throwIfNotFound();
  const tokens = await openFamily(trx, keys, { kind: 'runtime', runtimeId, userId, scopes: [], lastsFor: LASTS_FOR });
  await BootstrapToken.query(trx).findById(token.hash).patch({ familyId: tokens.family.id });
  return { ...tokens, identity: await activate(trx, runtime, runtimeVersion), isNew: true };
};

/** The user's runtimes, newest first, `limit` of those older than `before`. */
export const listOwnRuntimes = (
  db: Db,
  userId: string,
  includeRevoked: boolean,
  limit: number,
  before?: string,
): Promise<RuntimeIdentity[]> =>
  RuntimeIdentity.query(db)
    .whereIn('agentId', Agent.query(db).select('id').where({ userId }))
    .modify((query) => {
      if (!includeRevoked) query.whereNot({ status: 'revoked' });
      if (before !== undefined) query.where('id', '<', before);
    })
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
