import type { Db } from '../../db/knex.js';
import { type Person, recognizeUser } from '../../models/user.js';
import type { UserCaller } from '../operation.js';

/** The caller behind a verified identity; first sight creates the user. */
export const recognize = async (db: Db, person: Person & { isOperator: boolean }): Promise<UserCaller> => {
  const { isOperator, ...identity } = person;
  const user = await recognizeUser(db, identity);
  return { type: 'user', userId: user.id, isOperator, sessionId: null, isAutomation: false, scopes: ['*'] };
};
