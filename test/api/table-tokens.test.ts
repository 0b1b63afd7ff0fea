import test from 'ava';
import { type CryptoKey, generateKeyPair, SignJWT } from 'jose';
import type { ErrorCode } from '../../src/contract/errors.js';
import { randomToken } from '../../src/models/opaque-token.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { aRuntime } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';
import { authKinds, type Row, rows } from '../support/the-table.js';

const stack = withStack(test, { workers: false });

interface Bad {
  what: string;
  header: string;
  code: ErrorCode;
}

const ask = ({ method, path, body }: Row, header?: string) =>
  rawRequest(stack().url, {
    method,
    path: path(),
    headers: {
      ...(header === undefined ? {} : { authorization: header }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Tokens whose claims are right and whose signature is not. */
const forged = async (): Promise<Record<string, string>> => {
  const { issuer } = stack();
  const good = await issuer.token('mallory');
  const [header = '', payload = '', signature = ''] = good.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>; // of our own issuer
  const jwks = await (await fetch(`${issuer.url}/jwks`)).text();
  const sign = async (alg: string, kid: string, key: CryptoKey | Uint8Array) =>
    new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(key);
  const { privateKey } = await generateKeyPair('ES256');
  return {
    'of alg none': `${base64({ alg: 'none' })}.${payload}.`,
    'of alg none that kept a signature': `${base64({ alg: 'none', kid: 'test' })}.${payload}.${signature}`,
    'signed by another key': await sign('ES256', 'test', privateKey),
    'signed by a key nobody knows': await sign('ES256', 'other', privateKey),
    'signed with the public key as a secret': await sign('HS256', 'test', new TextEncoder().encode(jwks)),
    'with other claims than were signed': `${header}.${base64({ ...claims, sub: 'ada' })}.${signature}`,
    'without a signature': `${header}.${payload}.`,
    'whose parts are no JSON': 'a.b.c',
  };
};

const badUserTokens = async (): Promise<Bad[]> => {
  const { issuer } = stack();
  const now = Math.floor(Date.now() / 1_000);
  const agent = await (await stack().user()).anAgent();
  const runtime = await aRuntime(stack(), agent.id);
  const refused: Record<string, string> = {
    ...(await forged()),
    'for another audience': await issuer.token('mallory', { aud: 'https://elsewhere.test' }),
    'of another issuer': await issuer.token('mallory', { iss: 'https://elsewhere.test' }),
    'that is not valid yet': await issuer.token('mallory', { nbf: now + 3_600 }),
    'of a runtime': runtime.token ?? '',
    'of no kind at all': 'garbage',
  };
  return [
    ...Object.entries(refused).map(([what, token]) => ({
      what,
      header: `Bearer ${token}`,
      code: 'unauthenticated' as const,
    })),
    {
      what: 'that has expired',
      header: `Bearer ${await issuer.token('mallory', { exp: now - 3_600 })}`,
      code: 'token_expired',
    },
    { what: 'of another scheme', header: 'Basic YWRhOnNlY3JldA==', code: 'unauthenticated' },
    { what: 'that is empty', header: 'Bearer ', code: 'unauthenticated' },
    { what: 'with a space in it', header: 'Bearer a b', code: 'unauthenticated' },
  ];
};

const badRuntimeTokens = async (): Promise<Bad[]> => {
  const refused: Record<string, string> = {
    'of a user': (await stack().user()).token ?? '',
    'that was never issued': randomToken('runtimeAccess'),
    'that opens a gateway': randomToken('gateway'),
    'with a wrong checksum': `${randomToken('runtimeAccess').slice(0, -6)}000000`,
    'of no kind at all': 'garbage',
  };
  return Object.entries(refused).map(([what, token]) => ({ what, header: `Bearer ${token}`, code: 'unauthenticated' }));
};

for (const row of rows.filter(({ endpoint }) => endpoint.auth !== 'none'))
  test(`${row.endpoint.id} asks for a token`, async (t) => {
    const reply = await ask(row);
    isProblem(t, reply, 'unauthenticated');
    t.is(reply.headers.get('www-authenticate'), 'Bearer', 'no error is named when no token was sent (RFC 6750)');
  });

const refusesAll = (kind: Row[], tokens: () => Promise<Bad[]>): void => {
  let bad: Promise<Bad[]> | undefined;
  for (const row of kind)
    test(`${row.endpoint.id} refuses every token that is not a good one of its kind`, async (t) => {
      for (const { what, header, code } of await (bad ??= tokens())) {
        const reply = await ask(row, header);
        isProblem(t, reply, code, `a token ${what}`);
        if (header !== 'Bearer ') t.is(reply.headers.get('www-authenticate'), 'Bearer error="invalid_token"', what);
      }
    });
};
refusesAll(authKinds('user', 'operator'), badUserTokens);
refusesAll(authKinds('runtime'), badRuntimeTokens);

for (const row of authKinds('operator'))
  test(`${row.endpoint.id} is for operators alone`, async (t) => {
    isProblem(t, await ask(row, `Bearer ${(await stack().user()).token}`), 'operator_required');
  });

test.after('nobody who was refused became a user', async (t) => {
  t.deepEqual(await stack().db('users').where({ subject: 'mallory' }), []);
});
