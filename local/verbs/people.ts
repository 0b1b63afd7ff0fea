import { join } from 'node:path';
import { signIn } from '../identity/sign-in.js';
import { addUser, usersFile } from '../identity/users.js';
import { Failure } from '../process/failure.js';
import { writeJson } from '../process/files.js';
import { worldDir } from '../start/folder.js';
import { readWorld } from '../world-file.js';

const worldFile = (): string => join(worldDir(), 'world.json');

/** Prints an access token of this user. @throws Failure when there is no such user, or nobody answers */
export async function tokenVerb(email: string): Promise<void> {
  const { identityUrl, users, keys } = await readWorld(worldFile());
  if (!keys.oidcClientId || !keys.oidcRedirectUri)
    throw new Failure(`This world uses the identity provider ${identityUrl}: get a token there.`);
  const user = users.find((one) => one.email === email.toLowerCase());
  if (!user) throw new Failure(`There is no user ${email}; there are ${users.map((one) => one.email).join(', ')}.`);
  const client = { clientId: keys.oidcClientId, redirectUri: keys.oidcRedirectUri, audience: keys.oidcAudience };
  console.log(await signIn({ issuer: identityUrl, ...client, email: user.email, password: user.password }));
}

/** Adds a ready user and prints them as world.json shows them. */
export async function addUserVerb(email: string): Promise<void> {
  const world = await readWorld(worldFile());
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Failure(`"${email}" is no email address.`);
  const { password, role, ...user } = await addUser(usersFile(join(worldDir(), 'identity')), email);
  const shown = { email: user.email, password, role };
  const others = world.users.filter((one) => one.email !== user.email);
  await writeJson(worldFile(), { ...world, users: [...others, shown] });
  console.log(JSON.stringify(shown));
}
