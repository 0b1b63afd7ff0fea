import test from 'ava';
import { isToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { aNamedToken, approve, poll, refresh, signIn, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { aRuntime } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const aToken = (by: ACaller, fields: Record<string, unknown> = {}): Promise<Reply> =>
  by.call('auth.tokens.create', {}, { body: { name: 'backup', scopes: ['read'], expiresInDays: 30, ...fields } });
const sessionsOf = async (by: ACaller) =>
  (await by.call('auth.sessions.list')).body.sessions as { id: string; kind: string; name: string; current: boolean }[];

test('the list tells the devices and named tokens of the caller, newest first, and which one asks', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  t.deepEqual((await ada.call('auth.sessions.list')).body, { sessions: [], nextCursor: null });
  const cli = await signIn(stack(), ada, { clientName: 'my laptop' });
  await signIn(stack(), ada, { clientName: 'my editor', kind: 'mcp', scopes: ['*'] });
  await aNamedToken(stack(), ada, ['agents']);
  await signIn(stack(), eve);
  await aRuntime(stack(), (await ada.anAgent()).id);
  const seen = await sessionsOf(cli.device);
  t.deepEqual(
    seen.map(({ kind, name, current }) => [kind, name, current]),
    [
      ['token', 'a token', false],
      ['mcp', 'my editor', false],
      ['cli', 'my laptop', true],
    ],
  );
  t.true(
    (await sessionsOf(ada)).every(({ current }) => !current),
    'a bearer of the identity provider is no session',
  );
  t.like((await cli.device.call('auth.sessions.list', {}, { query: { limit: 1 } })).body.sessions, [{ kind: 'token' }]);
  const page = (await ada.call('auth.sessions.list', {}, { query: { limit: 2 } })).body;
  const rest = (await ada.call('auth.sessions.list', {}, { query: { limit: 2, cursor: page.nextCursor } })).body;
  t.deepEqual(
    [...page.sessions, ...rest.sessions].map(({ id }: { id: string }) => id),
    seen.map(({ id }) => id),
  );
  t.is(rest.nextCursor, null);
});

test('a session tells when it was last used', async (t) => {
  const ada = await stack().user();
  const { caller, sessionId } = await aNamedToken(stack(), ada);
  const look = async () =>
    (await ada.call('auth.sessions.list')).body.sessions.find((one: { id: string }) => one.id === sessionId);
  t.is((await look()).lastUsedAt, null);
  await caller.call('users.me');
  const { lastUsedAt } = await look();
  t.true(Math.abs(Date.parse(lastUsedAt) - Date.now()) < 5_000);
});

test('a revoked session is dead at once, with all of its tokens, and leaves the list', async (t) => {
  const ada = await stack().user();
  const { device, accessToken, refreshToken } = await signIn(stack(), ada);
  const [mine] = await sessionsOf(device);
  const began = performance.now();
  t.deepEqual((await ada.call('auth.sessions.revoke', { id: mine?.id ?? '' })).body, { ok: true });
  isProblem(t, await device.call('users.me'), 'unauthenticated');
  t.log(`revoked and dead within ${Math.round(performance.now() - began)} ms`);
  isProblem(t, await refresh(stack().nobody(), refreshToken), 'unauthenticated');
  isProblem(t, await new ACaller(stack().url, accessToken).call('auth.sessions.list'), 'unauthenticated');
  t.deepEqual(await sessionsOf(ada), []);
  t.deepEqual((await ada.call('auth.sessions.revoke', { id: mine?.id ?? '' })).body, { ok: true }, 'again is harmless');
});

test("another user's session, and a runtime's, are a 404", async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const { caller, sessionId } = await aNamedToken(stack(), ada);
  isProblem(t, await eve.call('auth.sessions.revoke', { id: sessionId }), 'not_found');
  t.is((await caller.call('users.me')).status, 200);
  const runtime = await aRuntime(stack(), (await ada.anAgent()).id);
  await runtime.call('runtime.auth.status');
  const { userId } = await stack().db('token_families').where({ id: sessionId }).first();
  const { id } = await stack().db('token_families').where({ userId, kind: 'runtime' }).first();
  isProblem(t, await ada.call('auth.sessions.revoke', { id }), 'not_found');
  t.is((await runtime.call('runtime.auth.status')).status, 200);
});

test('a named token is shown once, lives as long as it was told, and is listed', async (t) => {
  const ada = await stack().user();
  const { status, body, headers } = await aToken(ada, { expiresInDays: 7 });
  t.is(status, 201);
  t.is(headers.get('cache-control'), 'no-store');
  t.true(isToken('namedToken', body.token));
  t.like(body.session, { kind: 'token', name: 'backup', scopes: ['read'], current: false });
  t.true(Math.abs((Date.parse(body.session.expiresAt) - Date.now()) / 86_400_000 - 7) < 0.01);
  const list = await ada.call('auth.sessions.list');
  t.deepEqual(list.body.sessions, [body.session]);
  t.false(JSON.stringify(list.body).includes(body.token));
  const caller = new ACaller(stack().url, body.token);
  t.is((await caller.call('agents.list')).status, 200);
  isProblem(t, await refresh(stack().nobody(), body.token), 'unauthenticated', 'it is no refresh token');
  await stack().db('token_families').update({ expiresAt: stack().db.fn.now() }).where({ id: body.session.id });
  isProblem(t, await caller.call('agents.list'), 'token_expired');
  t.deepEqual(await sessionsOf(ada), []);
});

test('a year is the longest life, and the request says so when it is not valid', async (t) => {
  const ada = await stack().user();
  for (const expiresInDays of [0, -1, 367, 1.5, '7', null, Number.MAX_SAFE_INTEGER])
    isProblem(t, await aToken(ada, { expiresInDays }), 'invalid_request', String(expiresInDays));
  for (const scopes of [[], ['root'], '*', [1], ['read', 'read', 'read', 'read', 'read', 'read', 'read']])
    isProblem(t, await aToken(ada, { scopes }), 'invalid_request', JSON.stringify(scopes));
  for (const name of ['', '  ', 'x'.repeat(101), 7, '\u0007'])
    isProblem(t, await aToken(ada, { name }), 'invalid_request', String(name));
  t.deepEqual(await sessionsOf(ada), []);
  t.is((await aToken(ada, { expiresInDays: 366 })).status, 201);
});

test('a device may make named tokens for its person, unless its scopes say otherwise', async (t) => {
  const ada = await stack().user();
  const { device } = await signIn(stack(), ada);
  t.is((await aToken(device, { scopes: ['*'] })).status, 201);
  for (const scopes of [['read'], ['agents', 'billing', 'runtime', 'spend:approve', 'read']])
    for (const caller of [
      (await signIn(stack(), ada, { scopes })).device,
      (await aNamedToken(stack(), ada, scopes)).caller,
    ])
      isProblem(t, await aToken(caller, { scopes: ['read'] }), 'scope_required', scopes.join());
});

test('a session is never an operator, whoever opened it', async (t) => {
  const olivia = await stack().user(undefined, { role: 'operator' });
  t.is((await olivia.call('users.me')).body.role, 'operator');
  const { device } = await signIn(stack(), olivia);
  t.is((await device.call('users.me')).body.role, 'user');
});

test('a named token opens no session and makes no token: revoking it leaves nothing of it behind', async (t) => {
  const ada = await stack().user();
  const { caller } = await aNamedToken(stack(), ada, ['*']);
  isProblem(t, await aToken(caller, { scopes: ['read'] }), 'forbidden');
  const login = await startLogin(stack().nobody());
  isProblem(t, await approve(caller, login), 'forbidden');
  t.is((await poll(stack().nobody(), login)).body.status, 'authorization_pending');
  t.is((await caller.call('auth.sessions.list')).body.sessions.length, 1, 'all else it may');
});

test('a user has at most a hundred named tokens, also when two are made at once', async (t) => {
  const ada = await stack().user();
  const { sessionId } = await aNamedToken(stack(), ada);
  const { db } = stack();
  const { userId } = await db('token_families').where({ id: sessionId }).first('userId');
  await db.raw(
    `insert into token_families (id, kind, user_id, name, scopes, key_id, access_hash, access_expires_at, expires_at)
     select 'ses_' || lpad(n::text, 26, '0'), 'token', :userId, 'one of many', '{read}', 'k', sha256((:userId || n)::bytea),
            now() + interval '1 day', now() + interval '1 day'
       from generate_series(1, 97) as n`,
    { userId },
  );
  const replies = await Promise.all(Array.from({ length: 6 }, () => aToken(ada)));
  t.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 201, 409, 409, 409, 409],
  );
  await ada.call('auth.sessions.revoke', { id: sessionId });
  t.is((await aToken(ada)).status, 201, 'a revoked one makes room');
});
