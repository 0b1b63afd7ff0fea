import { writeFile } from 'node:fs/promises';
import test from 'ava';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { signIn } from '../../local/identity/sign-in.js';
import { startIdentity } from '../../local/identity/start.js';
import { addUser, usersFile } from '../../local/identity/users.js';
import { Failure } from '../../local/process/failure.js';
import { freePort } from '../../local/process/ports.js';
import { aFolder } from './a-host.js';

const client = { clientId: 'tests', redirectUri: 'http://127.0.0.1:1/auth/callback', audience: 'urn:tests:api' };

test('signing in through the form gives an access token for the API with address, name and role', async (t) => {
  const port = await freePort();
  const identity = await startIdentity({ port, ...client });
  t.teardown(identity.close);
  const token = await signIn({
    ...client,
    issuer: identity.url,
    email: 'olivia@example.com',
    password: 'olivia-password',
  });
  const keys = createRemoteJWKSet(new URL(`${identity.url}/jwks`));
  const { payload } = await jwtVerify(token, keys, { issuer: identity.url, audience: client.audience });
  t.like(payload, { email: 'olivia@example.com', name: 'Olivia', role: 'operator' });
  t.truthy(payload.sub);
});

test('a wrong password gives no token', async (t) => {
  const port = await freePort();
  const identity = await startIdentity({ port, ...client });
  t.teardown(identity.close);
  const attempt = signIn({ ...client, issuer: identity.url, email: 'ada@example.com', password: 'guess' });
  await t.throwsAsync(attempt, { instanceOf: Failure, message: /wrong address or password/ });
});

test('an added user can sign in at once, and old tokens stay good over a restart', async (t) => {
  const [dir, port] = [await aFolder(t), await freePort()];
  const before = await startIdentity({ port, dir, ...client });
  const { password } = await addUser(usersFile(dir), 'Bob@Example.com');
  const token = await signIn({ ...client, issuer: before.url, email: 'bob@example.com', password });
  await before.close();
  const after = await startIdentity({ port, dir, ...client });
  t.teardown(after.close);
  const keys = createRemoteJWKSet(new URL(`${after.url}/jwks`));
  await t.notThrowsAsync(jwtVerify(token, keys, { audience: client.audience }));
});

test('a broken list of users is one sentence that names the file', async (t) => {
  const dir = await aFolder(t);
  await writeFile(usersFile(dir), '{');
  const attempt = addUser(usersFile(dir), 'bob@example.com');
  await t.throwsAsync(attempt, { instanceOf: Failure, message: /users\.json cannot be used/ });
});
