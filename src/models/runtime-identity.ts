import { Model, raw, type Transaction } from 'objection';
import type { RuntimeStatus } from '../contract/shapes/runtime.js';
import type { Db } from '../db/knex.js';
import { Agent } from './agent.js';
import { newId } from './new-id.js';
import { hashToken } from './opaque-token.js';

/** Who a machine is: one identity for each machine generation of an agent (spec.md 2.8). */
export class RuntimeIdentity extends Model {
  static override tableName = 'runtime_identities';
  declare id: string;
  declare agentId: string;
  declare generation: number;
  declare status: RuntimeStatus;
  declare runtimeReleaseVersion: string;
  declare revokedAt: Date | null;
  declare createdAt: Date;
  declare updatedAt: Date;
}

export class BootstrapToken extends Model {
  static override tableName = 'bootstrap_tokens';
  static override idColumn = 'hash';
  declare hash: Buffer;
  declare runtimeId: string;
  declare expiresAt: Date;
  declare familyId: string | null;
}

const BOOTSTRAP_LIFE = '15 minutes';

/** The identity of the agent's present machine generation; made when there is none yet. */
export const ensureRuntimeIdentity = async (
  trx: Transaction,
  agent: Agent,
  releaseVersion: string,
): Promise<RuntimeIdentity> => {
  const { id: agentId, generation } = agent;
  await RuntimeIdentity.query(trx)
    .insert({ id: newId('runtime'), agentId, generation, runtimeReleaseVersion: releaseVersion })
    .onConflict(['agentId', 'generation'])
    .ignore();
  return RuntimeIdentity.query(trx).findOne({ agentId, generation }).throwIfNotFound();
};

/**
 * Makes this the runtime's bootstrap token, for 15 minutes; others of the runtime that nobody exchanged are dead. Given the same token
 * again it lives on: attempts of one job that overtake each other must not kill what the machine was started with. The caller holds the agent's row lock. Returns whether it is new.
 */
export const putBootstrapToken = async (trx: Transaction, runtimeId: string, token: string): Promise<boolean> => {
  const hash = hashToken(token);
  await BootstrapToken.query(trx).delete().where({ runtimeId, familyId: null }).whereNot({ hash });
  const known = await BootstrapToken.query(trx).findById(hash);
  const expiresAt = trx.raw(`now() + interval '${BOOTSTRAP_LIFE}'`);
  if (known) await trx('bootstrap_tokens').update({ expiresAt }).where({ hash, familyId: null });
  else await trx('bootstrap_tokens').insert({ hash, runtimeId, expiresAt });
  return known === undefined;
};

/** Everything the agent's machine could authenticate with is dead from this commit on. */
export const revokeRuntimes = async (db: Db | Transaction, agentId: string): Promise<void> => {
  const runtimeIds = RuntimeIdentity.query(db).select('id').where({ agentId });
  await db('token_families')
    .update({ revokedAt: db.fn.now(), revokeReason: 'deleted' })
    .whereNull('revokedAt')
    .whereIn('runtimeId', runtimeIds.clone().toKnexQuery());
  await BootstrapToken.query(db).delete().whereIn('runtimeId', runtimeIds.clone());
  await RuntimeIdentity.query(db)
    .patch({
      status: 'revoked',
      revokedAt: raw('now()'),
      updatedAt: raw('now()'),
    })
    .where({ agentId })
    .whereNot({ status: 'revoked' });
};
