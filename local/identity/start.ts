import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { loginRoutes } from './login.js';
import { makeKeys, openKeys } from './keys.js';
import { makeProvider, type IdentityClient } from './provider.js';
import { readUsers, readyUsers, usersFile } from './users.js';

export interface IdentityOptions extends IdentityClient {
  port: number;
  /** Where keys and users are kept; absent = in memory, with the ready users. */
  dir?: string;
}

export interface Identity {
  /** The issuer; discovery is at `<url>/.well-known/openid-configuration`. */
  url: string;
  close: () => Promise<void>;
}

/** Starts the identity provider on 127.0.0.1. @throws Failure when what lies in `dir` cannot be read */
export async function startIdentity({ port, dir, ...client }: IdentityOptions): Promise<Identity> {
  const url = `http://127.0.0.1:${port}`;
  const keys = dir ? await openKeys(join(dir, 'keys.json')) : await makeKeys();
  const users = async () => (dir ? readUsers(usersFile(dir)) : readyUsers);
  const provider = makeProvider(url, client, keys, users);
  provider.use(loginRoutes(provider, users));
  const answer = provider.callback();
  const server = createServer((request, response) => void answer(request, response));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { url, close };
}
