import { ApiError } from '../../contract/errors.js';
import type { Db } from '../../db/knex.js';
import { type DeviceLogin, findOpenLogin } from '../../models/device-login.js';
import type { KeyRing } from '../../models/key-ring.js';
import { guessing, guessLimits } from '../guesses.js';

/** A wrong, expired and decided code are one and the same. */
export const noSuchCode = (): ApiError => new ApiError('not_found', 'The code is wrong, expired or used.');

/** The login of a code that a person typed; tries are counted for the person and for the network. */
export const getOpenLogin = async (
  { db, keys }: { db: Db; keys: KeyRing },
  { userId, network, userCode }: { userId: string; network: string; userCode: string },
): Promise<DeviceLogin> => {
  const login = await guessing(
    db,
    [
      [`user-code:${userId}`, guessLimits.userCodeOfUser],
      [`user-code:${network}`, guessLimits.userCodeOfAddress],
    ],
    () => findOpenLogin(db, keys, userCode),
  );
  if (!login) throw noSuchCode();
  return login;
};
