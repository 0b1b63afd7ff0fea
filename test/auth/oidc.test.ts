import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { ApiError, ErrorCode } from '../../src/contract/errors.js';
import { makeOidc, type OidcOptions, type VerifyIdentity } from '../../src/providers/identity/oidc.js';
import { anIssuer, type Issuer } from '../support/an-issuer.js';

const make = async (t: ExecutionContext, options: Partial<OidcOptions> = {}): Promise<[Issuer, VerifyIdentity]> => {
  const issuer = await anIssuer();
  t.teardown(() => issuer.close().catch(() => undefined));
  const { url, audience } = issuer;
  return [issuer, makeOidc({ issuer: url, audience, algorithms: ['ES256'], operatorSubjects: [], ...options })];
};
const refused = async (
  t: ExecutionContext,
  verifying: Promise<unknown>,
  code: ErrorCode,
  detail = /./,
): Promise<void> => {
  const error: ApiError = await t.throwsAsync(verifying);
  t.is(error.code, code, error.message);
  t.regex(error.message, detail);
};
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

test('a bearer that is no JWT, or for another audience, is refused in words that help', async (t) => {
  const [issuer, verify] = await make(t);
  await refused(t, verify('an-opaque-token'), 'unauthenticated', /not a JWT.*audience/);
  const elsewhere = await issuer.token('ada', { aud: 'https://elsewhere.test' });
  await refused(t, verify(elsewhere), 'unauthenticated', /audience https:\/\/agents\.test/);
  await refused(t, verify(await issuer.token('ada', { iss: 'https://elsewhere.test' })), 'unauthenticated');
});

test('half a minute of difference between clocks is forgiven, more is not', async (t) => {
  const [issuer, verify] = await make(t);
  await t.notThrowsAsync(verify(await issuer.token('ada', { exp: inSeconds(-20) })));
  await refused(t, verify(await issuer.token('ada', { exp: inSeconds(-40) })), 'token_expired');
  await t.notThrowsAsync(verify(await issuer.token('ada', { nbf: inSeconds(20) })));
  await refused(t, verify(await issuer.token('ada', { nbf: inSeconds(40) })), 'unauthenticated');
});

test('only the algorithms of the setting count', async (t) => {
  const [issuer, verify] = await make(t, { algorithms: ['RS256', 'EdDSA'] });
  await refused(t, verify(await issuer.token('ada')), 'unauthenticated');
});

test.serial('a new key of the provider is found, and the old one is forgotten', async (t) => {
  const [issuer, verify] = await make(t);
  const old = await issuer.token('ada');
  t.is((await verify(old)).subject, 'ada');
  await issuer.rotate();
  const fresh = await issuer.token('ada');
  // The keys are fetched twice a minute at most: half a minute passes.
  const { now } = Date;
  Date.now = () => now() + 31_000;
  t.teardown(() => (Date.now = now));
  t.is((await verify(fresh)).subject, 'ada');
  await refused(t, verify(old), 'unauthenticated');
});

test('an issuer that writes itself with a slash at the end is the same issuer', async (t) => {
  const [issuer, verify] = await make(t);
  const identity = await verify(await issuer.token('ada', { iss: `${issuer.url}/` }));
  t.is(identity.issuer, issuer.url, 'so a person stays one person');
});

test('operators are told by a claim or a list of subjects, never by an address', async (t) => {
  const [issuer, verify] = await make(t, { operatorClaim: 'groups=acp:operators', operatorSubjects: ['olivia'] });
  const is = async (subject: string, claims: Record<string, unknown> = {}) =>
    (await verify(await issuer.token(subject, claims))).isOperator;
  t.true(await is('olivia'));
  t.true(await is('ada', { groups: ['staff', 'acp:operators'] }));
  t.true(await is('ada', { groups: 'acp:operators' }));
  for (const claims of [
    {},
    { groups: ['acp:operators2'] },
    { groups: true },
    { groups: { 'acp:operators': 1 } },
    { email: 'olivia' },
    { role: 'operator' },
  ])
    t.false(await is('ada', claims), JSON.stringify(claims));
});

test('a provider that cannot be reached is no reason to throw the token away', async (t) => {
  const [issuer, verify] = await make(t);
  const token = await issuer.token('ada');
  await issuer.close();
  await refused(t, verify(token), 'unavailable');
  const gone = makeOidc({
    issuer: issuer.url,
    audience: issuer.audience,
    algorithms: ['ES256'],
    operatorSubjects: [],
    jwksUrl: `${issuer.url}/jwks`,
  });
  await refused(t, gone(token), 'unavailable');
});

test('a discovery document of another issuer is not believed', async (t) => {
  const [issuer] = await make(t);
  const through = issuer.url.replace('127.0.0.1', 'localhost');
  const { audience } = issuer;
  const verify = makeOidc({ issuer: through, audience, algorithms: ['ES256'], operatorSubjects: [] });
  await refused(t, verify(await issuer.token('ada', { iss: through })), 'unavailable');
});

test('what is signed for another purpose, or names nobody we could keep, opens nothing', async (t) => {
  const [issuer, verify] = await make(t);
  for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt'])
    await refused(t, verify(await issuer.token('ada', {}, { typ })), 'unauthenticated', /no access token/);
  for (const typ of ['JWT', 'at+jwt', 'AT+JWT'])
    t.is((await verify(await issuer.token('ada', {}, { typ }))).subject, 'ada');
  for (const sub of ['', 'a\u0000b', '\ud800', 'x'.repeat(256)])
    await refused(t, verify(await issuer.token(sub)), 'unauthenticated');
  const odd = await verify(await issuer.token('ada', { email: 'x'.repeat(3_000), name: 'a\u0000b' }));
  t.like(odd, { email: '', name: '' }, 'a profile is not worth refusing a person for');
});

// Serial, because it moves the clock of the whole file.
test.serial('a key that the provider withdraws is forgotten within a minute', async (t) => {
  const [issuer, verify] = await make(t);
  const before = await issuer.token('ada');
  await verify(before);
  await issuer.rotate();
  const { now } = Date;
  t.teardown(() => (Date.now = now));
  Date.now = () => now() + 61_000;
  await refused(t, verify(before), 'unauthenticated');
});

test('a provider that answers its discovery with trouble is no reason to throw the token away', async (t) => {
  const [issuer] = await make(t);
  const troubles: string[] = [];
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"upstream"}');
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has one
  const verify = makeOidc({
    issuer: `http://127.0.0.1:${port}`,
    audience: issuer.audience,
    algorithms: ['ES256'],
    operatorSubjects: [],
    onTrouble: (error) => void troubles.push(String(error)),
  });
  await refused(t, verify(await issuer.token('ada')), 'unavailable');
  t.regex(troubles.join(), /answered 503/);
});
