import { existsSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { hashToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { approve, poll, refresh, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { aBootstrap } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';
import { type AnotherApi, anotherApi } from '../support/another-api.js';

const stack = withStack(test, { workers: false });

/** Debian's package `faketime`, or wherever the environment says. */
const library = [
  process.env['FAKETIME_LIBRARY'] ?? '',
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib64/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
].find((path) => path !== '' && existsSync(path));
const clockTest = library === undefined ? test.skip : test;
if (library === undefined)
  test('libfaketime is not on this machine: the tests with a shifted clock are skipped (apt-get install faketime)', (t) => {
    t.log('SKIPPED: clock tests. Set FAKETIME_LIBRARY or install the package faketime to run them.');
    t.pass();
  });

/** An API whose clock is off by so much. */
const shifted = async (t: ExecutionContext, offset: string): Promise<AnotherApi> => {
  const fake = { LD_PRELOAD: library ?? '', FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const api = await anotherApi(stack(), fake);
  t.teardown(() => api.process.stop());
  const { headers } = await api.nobody().request('GET', '/healthz');
  const hours = (Date.parse(headers.get('date') ?? '') - Date.now()) / 3_600_000;
  t.true(Math.abs(hours - Number.parseInt(offset, 10)) < 0.01, `the clock is off by ${hours} h`);
  return api;
};

/** Within a few seconds of `seconds` from now, by the clock of this process and the database. */
const isIn = (t: ExecutionContext, at: string, seconds: number, what: string): void => {
  const off = (Date.parse(at) - Date.now()) / 1_000 - seconds;
  t.true(Math.abs(off) < 20, `${what}: off by ${off} s`);
};

for (const offset of ['+2h', '-2h'])
  clockTest(`expiries follow the database when the API's clock is ${offset} off`, async (t) => {
    t.timeout(60_000);
    const api = await shifted(t, offset);
    const { db } = stack();
    const ada = await stack().user();
    const me = (reply: Reply): Promise<Reply> =>
      new ACaller(api.url, reply.body.accessToken as string).call('users.me');
    const set = (table: string, column: string, where: Record<string, unknown>, interval = '0') =>
      db(table)
        .update({ [column]: db.raw('now() + ?::interval', [interval]) })
        .where(where);

    const late = await startLogin(api.nobody());
    const lateRow = { deviceCodeHash: hashToken(late.deviceCode) };
    t.is((await poll(api.nobody(), late)).body.status, 'authorization_pending');
    await set('device_logins', 'expires_at', lateRow, '-1 millisecond');
    t.is((await poll(api.nobody(), late)).body.status, 'expired_token');

    const login = await startLogin(api.nobody());
    t.is((await approve(ada, login)).status, 200);
    const pair = await poll(api.nobody(), login);
    isIn(t, pair.body.accessTokenExpiresAt, 3_600, 'access token');
    isIn(t, pair.body.refreshTokenExpiresAt, 30 * 86_400, 'refresh token');
    t.deepEqual((await poll(api.nobody(), login)).body, pair.body, 'the pair is told again');
    const family = { userId: pair.body.userId };
    await set('token_families', 'created_at', family, '-61 seconds');
    t.is((await poll(api.nobody(), login)).body.status, 'expired_token', 'a minute later it is not');

    t.is((await me(pair)).status, 200);
    await set('token_families', 'access_expires_at', family);
    isProblem(t, await me(pair), 'token_expired');
    const second = await refresh(api.nobody(), pair.body.refreshToken);
    isIn(t, second.body.accessTokenExpiresAt, 3_600, 'access token of the second generation');
    t.deepEqual((await refresh(api.nobody(), pair.body.refreshToken)).body, second.body, 'within its grace');
    await set('token_families', 'refresh_expires_at', family);
    isProblem(t, await refresh(api.nobody(), second.body.refreshToken), 'token_expired');

    const { id } = await ada.anAgent();
    const bootstrap = await aBootstrap(stack(), id);
    const exchange = () =>
      api.nobody().call('runtime.bootstrap.exchange', {}, { body: { ...bootstrap, runtimeVersion: '1.0.0' } });
    const session = await exchange();
    isIn(t, session.body.accessTokenExpiresAt, 3_600, 'runtime access token');
    await set('bootstrap_tokens', 'expires_at', { runtimeId: bootstrap.runtimeId });
    isProblem(t, await exchange(), 'unauthenticated', 'an expired bootstrap token');

    const body = { name: 'a token', scopes: ['read'], expiresInDays: 1 };
    const made = await api.as({ token: await longBearer() }).call('auth.tokens.create', {}, { body });
    isIn(t, made.body.session?.expiresAt, 86_400, 'named token');
    t.log(
      `API ${offset} off: device code, pair told again, access, refresh, grace, bootstrap and named token expire by the database`,
    );
  });

/** A bearer of the identity provider that also a clock two hours ahead finds valid: those are not ours to date. */
const longBearer = (): Promise<string> =>
  stack().issuer.token('clock', { exp: Math.floor(Date.now() / 1_000) + 5 * 3_600 });
