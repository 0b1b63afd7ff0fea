import type { Db } from '../../db/knex.js';
import { isToken } from '../../models/opaque-token.js';
import type { UserCaller } from '../operation.js';
import { invalidToken, requireUse } from '../require-use.js';

/** The user behind a token of a signed-in device or a named token. Sessions are never operators: that role is the identity provider's to give. */
export const recognizeSession = async (db: Db, token: string): Promise<UserCaller> => {
  if (!isToken('userAccess', token) && !isToken('namedToken', token)) throw invalidToken();
  const { kind, userId, familyId, scopes } = await requireUse(db, token);
  if (kind === 'runtime') throw invalidToken();
  return { type: 'user', userId, isOperator: false, sessionId: familyId, isAutomation: kind === 'token', scopes };
};
