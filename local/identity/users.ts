import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { readJson, writeJson } from '../process/files.js';

const LocalUser = z.object({
  email: z.string(),
  name: z.string(),
  password: z.string(),
  role: z.enum(['user', 'operator']),
});
export type LocalUser = z.infer<typeof LocalUser>;

/** The people every local world knows. Their passwords are printed at the start; nothing outside this machine is behind them. */
export const readyUsers: readonly LocalUser[] = [
  newUser('ada@example.com'),
  newUser('grace@example.com'),
  { ...newUser('olivia@example.com'), role: 'operator' },
];

export function newUser(email: string): LocalUser {
  const [first = email] = email.split('@');
  return { email, name: first[0]?.toUpperCase() + first.slice(1), password: `${first}-password`, role: 'user' };
}

/** The user's `sub`: made from the address, so that it survives a world whose data was thrown away. */
export const subjectOf = ({ email }: LocalUser): string =>
  createHash('sha256').update(email.toLowerCase()).digest('hex').slice(0, 20);

/** The file in the identity provider's folder that its users are kept in. */
export const usersFile = (dir: string): string => join(dir, 'users.json');

/** The users kept in this file, the ready ones when there is none. @throws Failure when it cannot be read */
export const readUsers = async (file: string): Promise<readonly LocalUser[]> =>
  (await readJson(file, z.array(LocalUser))) ?? readyUsers;

/** Adds a user to the file; the provider reads it at each sign-in, so nothing needs a restart. */
export async function addUser(file: string, email: string): Promise<LocalUser> {
  const users = await readUsers(file);
  const user = newUser(email.toLowerCase());
  const known = users.find((one) => one.email === user.email);
  if (!known) await writeJson(file, [...users, user]);
  return known ?? user;
}
