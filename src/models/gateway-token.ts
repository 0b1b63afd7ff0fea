import { Model, type Transaction } from 'objection';
import type { Db } from '../db/knex.js';
import type { KeyRing } from './key-ring.js';
import { newId } from './new-id.js';
import { hashToken, randomToken } from './opaque-token.js';
import { type Sealed, seal, unseal } from './sealed.js';

/** The token of an agent's gateway. It must be shown again, so it is kept sealed beside its hash. */
export class GatewayToken extends Model {
  static override tableName = 'gateway_tokens';
  static override jsonAttributes = ['sealed'];
  declare id: string;
  declare agentId: string;
  declare hash: Buffer;
  declare sealed: Sealed;
  declare state: 'next' | 'current' | 'retired';
  declare retiredAt: Date | null;
}

const placeOf = (id: string): string => `gateway_tokens.sealed:${id}`;

const find = (db: Db | Transaction, agentId: string, state: GatewayToken['state']) =>
  GatewayToken.query(db).findOne({ agentId, state });

const mint = async (
  trx: Transaction,
  keys: KeyRing,
  agentId: string,
  state: GatewayToken['state'],
): Promise<GatewayToken> => {
  const token = randomToken('gateway');
  const id = newId('gatewayToken');
  const row = { id, agentId, hash: hashToken(token), sealed: seal(keys, placeOf(id), token), state };
  return GatewayToken.query(trx).insertAndFetch(row);
};

export const openGatewayToken = (keys: KeyRing, row: GatewayToken): string => unseal(keys, placeOf(row.id), row.sealed);

/** The token that opens the agent's gateway now. */
export const findGatewayToken = async (db: Db | Transaction, agentId: string): Promise<GatewayToken | undefined> =>
  find(db, agentId, 'current');

/** What the machine is to be started with: the token waiting to take over, else the current one, else a new one. */
export const gatewayTokenForMachine = async (trx: Transaction, keys: KeyRing, agentId: string): Promise<string> => {
  const row =
    (await find(trx, agentId, 'next')) ??
    (await find(trx, agentId, 'current')) ??
    (await mint(trx, keys, agentId, 'current'));
  return openGatewayToken(keys, row);
};

const retire = async (trx: Transaction, agentId: string, states: GatewayToken['state'][]): Promise<void> => {
  await trx('gateway_tokens')
    .update({ state: 'retired', retiredAt: trx.fn.now() })
    .where({ agentId })
    .whereIn('state', states);
};

/** Mints the successor, which waits until the machine has it. With `force` the old one dies in this commit. */
export const mintNextGatewayToken = async (
  trx: Transaction,
  keys: KeyRing,
  agentId: string,
  force: boolean,
): Promise<void> => {
  await retire(trx, agentId, force ? ['next', 'current'] : ['next']);
  await mint(trx, keys, agentId, force ? 'current' : 'next');
};

/** The machine has the waiting token: it is the one that counts, its predecessor is dead. False when none was waiting: nothing has changed. */
export const adoptNextGatewayToken = async (trx: Transaction, agentId: string): Promise<boolean> => {
  const next = await find(trx, agentId, 'next').forUpdate();
  if (!next) return false;
  await retire(trx, agentId, ['current']);
  await GatewayToken.query(trx).findById(next.id).patch({ state: 'current' });
  return true;
};

export const retireGatewayTokens = (trx: Transaction, agentId: string): Promise<void> =>
  retire(trx, agentId, ['next', 'current']);
