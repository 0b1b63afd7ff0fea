import { createHmac, randomInt } from 'node:crypto';
import { Model, type Transaction } from 'objection';
import type { SessionScope } from '../contract/shapes/session.js';
import type { Db } from '../db/knex.js';
import type { KeyRing } from './key-ring.js';
import { newId } from './new-id.js';
import { hashToken, randomToken } from './opaque-token.js';

/** A device that waits to be let in (RFC 8628). */
export class DeviceLogin extends Model {
  static override tableName = 'device_logins';
  declare id: string;
  declare clientName: string;
  declare kind: 'cli' | 'mcp';
  declare scopes: SessionScope[];
  declare address: string | null;
  declare status: 'pending' | 'approved' | 'denied';
  declare intervalSeconds: number;
  declare userId: string | null;
  declare approvedBySession: string | null;
  declare familyId: string | null;
  declare expiresAt: Date;
  declare createdAt: Date;
}

export const DEVICE_CODE_SECONDS = 900;
export const POLL_SECONDS = 5;
/** Polls this much early are no offence: clocks and networks jitter. */
const TOLERANCE = '1 second';
const SLOWER_BY = 5;

/** Consonants only: no code spells a word, none is mistaken for another. 20^8 codes, about 34.6 bits. */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;

const newUserCode = (): string =>
  Array.from({ length: CODE_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');

export const showUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** Upper case, letters only: how people type does not matter. */
const normalize = (typed: string): string => typed.toUpperCase().replaceAll(/[^A-Z]/g, '');

/** Keyed, because so short a code could be found by trying all of them against a plain hash. */
const hashUserCode = (keys: KeyRing, keyId: string, typed: string): Buffer =>
  createHmac('sha256', keys.key(keyId, 'user-codes')).update(normalize(typed)).digest();

export interface NewDeviceLogin {
  clientName: string;
  kind: 'cli' | 'mcp';
  scopes: SessionScope[];
  address: string | null;
}

/** Opens a login for 15 minutes; the codes are told once and only their hashes kept. */
export const openDeviceLogin = async (
  db: Db,
  keys: KeyRing,
  login: NewDeviceLogin,
): Promise<{ deviceCode: string; userCode: string }> => {
  const deviceCode = randomToken('deviceCode');
  const userCode = newUserCode();
  await db('device_logins').insert({
    id: newId('deviceLogin'),
    deviceCodeHash: hashToken(deviceCode),
    userCodeHash: hashUserCode(keys, keys.currentId, userCode),
    ...login,
    expiresAt: db.raw(`now() + interval '${DEVICE_CODE_SECONDS} seconds'`),
  });
  return { deviceCode, userCode };
};

/** The login that a person may still decide on; a wrong, expired and decided code are one and the same: nothing. */
export const findOpenLogin = async (
  db: Db | Transaction,
  keys: KeyRing,
  userCode: string,
): Promise<DeviceLogin | undefined> =>
  DeviceLogin.query(db)
    .findOne({ status: 'pending' })
    // Whichever key it was made with: keys may be changed while a login is under way.
    .whereIn(
      'userCodeHash',
      keys.ids.map((keyId) => hashUserCode(keys, keyId, userCode)),
    )
    .where('expiresAt', '>', db.fn.now());

interface Approval {
  status: 'approved';
  userId: string;
  /** The session of the approver; null = a bearer of the identity provider. */
  approvedBySession: string | null;
  scopes: SessionScope[];
}

/** Decides a pending login, once: of two at the same time one finds it decided. */
export const decideLogin = async (
  trx: Transaction,
  id: string,
  decision: { status: 'denied'; userId: string } | Approval,
): Promise<boolean> => {
  const decided = await trx('device_logins')
    .update(decision)
    .where({ id, status: 'pending' })
    .where('expiresAt', '>', trx.fn.now());
  return decided === 1;
};

export interface PolledLogin {
  login: DeviceLogin;
  isExpired: boolean;
  isTooSoon: boolean;
}

/** The login of a device code, locked for the poll and noted as polled. Polling too soon makes the interval longer. */
export const pollLogin = async (trx: Transaction, deviceCode: string): Promise<PolledLogin | undefined> => {
  const login = await DeviceLogin.query(trx)
    .findOne({ deviceCodeHash: hashToken(deviceCode) })
    .forUpdate();
  if (!login) return undefined;
  const { isExpired, isTooSoon } = await trx('device_logins')
    .where({ id: login.id })
    .first<{ isExpired: boolean; isTooSoon: boolean }>(
      trx.raw('expires_at <= now() as "isExpired"'),
      trx.raw(
        `coalesce(status = 'pending' and polled_at > clock_timestamp() - make_interval(secs => interval_seconds)
                  + interval '${TOLERANCE}', false) as "isTooSoon"`,
      ),
    );
  const intervalSeconds = isTooSoon ? login.intervalSeconds + SLOWER_BY : login.intervalSeconds;
  await trx('device_logins')
    .update({ polledAt: trx.raw('clock_timestamp()'), intervalSeconds })
    .where({ id: login.id });
  login.intervalSeconds = intervalSeconds;
  return { login, isExpired, isTooSoon };
};
