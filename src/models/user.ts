import { Model } from 'objection';
import type { Db } from '../db/knex.js';
import { newId } from './new-id.js';

export class User extends Model {
  static override tableName = 'users';
  declare id: string;
  declare issuer: string;
  declare subject: string;
  declare email: string;
  declare name: string;
  declare createdAt: Date;
  declare updatedAt: Date;
}

export interface Person {
  issuer: string;
  subject: string;
  email: string;
  name: string;
}

/** The user of an identity; first sight creates it, later sights change nothing (the person may have edited name and email here). */
export const recognizeUser = async (db: Db, person: Person): Promise<User> => {
  const { issuer, subject } = person;
  const known = await User.query(db).findOne({ issuer, subject });
  if (known) return known;
  await User.query(db)
    .insert({ id: newId('user'), ...person })
    .onConflict(['issuer', 'subject'])
    .ignore();
  return User.query(db).findOne({ issuer, subject }).throwIfNotFound();
};
