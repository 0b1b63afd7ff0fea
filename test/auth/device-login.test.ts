import test from 'ava';
import { isToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { poll, approve, aNamedToken, signIn, type StartedLogin, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const start = (fields: Record<string, unknown> = {}): Promise<StartedLogin> => startLogin(stack().nobody(), fields);
const asked = (login: StartedLogin) => poll(stack().nobody(), login);

/** The row of the login that was opened last. */
const newest = async () => stack().db('device_logins').orderBy('id', 'desc').first();
const moved = async (column: string, interval: string): Promise<void> => {
  const { id } = await newest();
  await stack()
    .db('device_logins')
    .update({ [column]: stack().db.raw(`${column} + ?::interval`, [interval]) })
    .where({ id });
};

test.serial('a device is let in: start, poll, look, approve, poll (2.1, 2.2, 3.1)', async (t) => {
  const login = await stack()
    .nobody()
    .call('auth.device.start', {}, { body: { clientName: 'my laptop' } });
  t.is(login.status, 200);
  t.is(login.headers.get('cache-control'), 'no-store');
  t.like(login.body, { expiresIn: 900, interval: 5, status: 'pending', verificationUri: `${stack().url}/auth/device` });
  t.is(login.body.verificationUriComplete, `${stack().url}/auth/device?user_code=${login.body.userCode}`);
  t.regex(login.body.userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  t.deepEqual((await asked(login.body)).body, { status: 'authorization_pending', interval: 5 });

  const ada = await stack().user();
  const seen = await ada.call('auth.device.lookup', {}, { query: { userCode: login.body.userCode } });
  t.like(seen.body, { clientName: 'my laptop', scopes: ['*'] });
  t.regex(seen.body.address, /127\.0\.0\.1/);
  t.true(Math.abs(Date.parse(seen.body.expiresAt) - Date.parse(seen.body.requestedAt) - 900_000) < 1_000);

  const approved = await approve(ada, login.body);
  t.deepEqual(approved.body, { ok: true, status: 'approved', clientName: 'my laptop' });
  const pair = await asked(login.body);
  const me = (await ada.call('users.me')).body;
  t.like(pair.body, { status: 'authorized', tokenType: 'Bearer', userId: me.id, plan: me.plan });
  t.true(isToken('userAccess', pair.body.accessToken) && isToken('userRefresh', pair.body.refreshToken));
  const hours = (at: string) => (Date.parse(at) - Date.now()) / 3_600_000;
  t.true(Math.abs(hours(pair.body.accessTokenExpiresAt) - 1) < 0.1);
  t.true(Math.abs(hours(pair.body.refreshTokenExpiresAt) - 30 * 24) < 0.1);
});

test.serial('a device that polls too soon is told to slow down, by five seconds more each time', async (t) => {
  const login = await start();
  const intervals: number[] = [];
  for (let polls = 0; polls < 4; polls++) intervals.push((await asked(login)).body.interval as number);
  t.log(`intervals told to a device that does not wait: ${intervals.join(', ')} s`);
  t.deepEqual(intervals, [5, 10, 15, 20]);
  t.is((await asked(login)).body.status, 'slow_down');
  await moved('polled_at', '-25 seconds');
  t.deepEqual(
    (await asked(login)).body,
    { status: 'authorization_pending', interval: 25 },
    'it waited what it was told',
  );
});

test.serial('a poll up to a second early is no offence', async (t) => {
  const login = await start();
  await asked(login);
  await moved('polled_at', '-4.2 seconds');
  t.is((await asked(login)).body.status, 'authorization_pending', '0.8 s early');
  await moved('polled_at', '-3.5 seconds');
  t.deepEqual((await asked(login)).body, { status: 'slow_down', interval: 10 }, '1.5 s early');
});

test.serial('a device that was denied, or came too late, gets nothing', async (t) => {
  const ada = await stack().user();
  const denied = await start({ clientName: 'a stranger' });
  const answer = await ada.call('auth.device.deny', {}, { body: { userCode: denied.userCode } });
  t.deepEqual(answer.body, { ok: true, status: 'denied', clientName: 'a stranger' });
  t.deepEqual((await asked(denied)).body, { status: 'access_denied' });
  isProblem(t, await approve(ada, denied), 'not_found', 'what was denied cannot be approved');

  const late = await start();
  await moved('expires_at', '-900 seconds');
  t.deepEqual((await asked(late)).body, { status: 'expired_token' });
  isProblem(t, await approve(ada, late), 'not_found');

  const approvedAndLeft = await start();
  await approve(ada, approvedAndLeft);
  await moved('expires_at', '-900 seconds');
  t.deepEqual((await asked(approvedAndLeft)).body, { status: 'expired_token' }, 'approved in time, asked for too late');
  t.is(
    await stack()
      .db('token_families')
      .where({ userId: (await ada.call('users.me')).body.id })
      .then((all) => all.length),
    0,
  );
});

test.serial('the same pair is told again for 60 s while none of it was used', async (t) => {
  const ada = await stack().user();
  const login = await start();
  await approve(ada, login);
  const first = await asked(login);
  t.deepEqual((await asked(login)).body, first.body, 'a lost reply is not a lost login');
  const { familyId } = await newest();
  const age = (seconds: number) =>
    stack()
      .db('token_families')
      .update({ createdAt: stack().db.raw(`now() - make_interval(secs => ${seconds})`) })
      .where({ id: familyId });
  await age(58);
  t.deepEqual((await asked(login)).body, first.body, 'after 58 s');
  await age(61);
  t.deepEqual((await asked(login)).body, { status: 'expired_token' }, 'after 61 s');
});

test.serial('forty polls at once get one and the same pair, and none after its first use', async (t) => {
  const ada = await stack().user();
  const figures: string[] = [];
  for (let round = 0; round < 5; round++) {
    const login = await start();
    await approve(ada, login);
    const replies = await Promise.all(Array.from({ length: 40 }, () => asked(login)));
    const pairs = new Set(replies.map(({ body }) => JSON.stringify(body)));
    t.deepEqual([...new Set(replies.map(({ body }) => body.status))], ['authorized']);
    t.is(pairs.size, 1);
    const { accessToken } = (replies[0] as Reply).body as { accessToken: string };
    t.is(
      (
        await stack()
          .nobody()
          .request('GET', '/api/users/me', { headers: { authorization: `Bearer ${accessToken}` } })
      ).status,
      200,
    );
    const after = await Promise.all(Array.from({ length: 40 }, () => asked(login)));
    t.deepEqual([...new Set(after.map(({ body }) => JSON.stringify(body)))], ['{"status":"expired_token"}']);
    figures.push(`${replies.length} polls: ${pairs.size} pair; ${after.length} polls after its first use: 0 pairs`);
  }
  const families = await stack()
    .db('token_families')
    .where({ userId: (await ada.call('users.me')).body.id });
  t.is(families.length, 5);
  t.log(figures.join('\n'));
});

test.serial('the use of a pair while it is polled for leaves no second one', async (t) => {
  const ada = await stack().user();
  const login = await start();
  await approve(ada, login);
  const { body } = await asked(login);
  await stack()
    .nobody()
    .call('auth.refresh', {}, { body: { refreshToken: body.refreshToken } });
  t.deepEqual((await asked(login)).body, { status: 'expired_token' }, 'a refresh is a use');
});

test.serial('how people type the code does not matter', async (t) => {
  const ada = await stack().user();
  const spellings: ((code: string) => string)[] = [
    (code) => code.toLowerCase(),
    (code) => code.replace('-', ''),
    (code) => code.replace('-', ' '),
    (code) => ` ${code} `,
    (code) => code.split('').join('.'),
    (code) => code.replace('-', '—'),
  ];
  for (const spelling of spellings) {
    const login = await start();
    t.is((await approve(ada, { ...login, userCode: spelling(login.userCode) })).status, 200, spelling(login.userCode));
  }
});

test.serial('the approver grants what was asked for or less, and never more than they have', async (t) => {
  const ada = await stack().user();
  const narrowed = await start({ scopes: ['agents', 'billing'] });
  t.is((await approve(ada, narrowed, { scopes: ['agents'] })).status, 200);
  const { body } = await asked(narrowed);
  const sessions = (await ada.call('auth.sessions.list')).body.sessions;
  t.deepEqual(sessions[0].scopes, ['agents'], JSON.stringify(body));

  const everything = await start();
  t.is((await approve(ada, everything, { scopes: ['read'] })).status, 200, 'of everything, reading alone');
  const reader = new ACaller(stack().url, (await asked(everything)).body.accessToken as string);
  isProblem(t, await reader.call('agents.create', {}, { body: { name: 'x' } }), 'scope_required');

  const widened = await start({ scopes: ['read'] });
  for (const scopes of [['*'], ['read', 'agents'], ['agents']])
    isProblem(t, await approve(ada, widened, { scopes }), 'invalid_request', scopes.join());
  for (const scopes of [[], ['everything'], 'read', [['read']], null])
    isProblem(t, await approve(ada, widened, { scopes }), 'invalid_request', JSON.stringify(scopes));
  t.is((await asked(widened)).body.status, 'authorization_pending', 'which decided nothing');
  t.is((await approve(ada, widened)).status, 200, 'and counted as no wrong code');
});

test.serial('a session with less than everything cannot let anybody in', async (t) => {
  const ada = await stack().user();
  for (const scopes of [['read'], ['agents'], ['read', 'agents', 'billing', 'spend:approve', 'runtime']]) {
    const login = await start({ scopes });
    for (const { caller } of [
      await aNamedToken(stack(), ada, scopes),
      { caller: (await signIn(stack(), ada, { scopes })).device },
    ]) {
      isProblem(t, await approve(caller, login), 'scope_required', scopes.join());
      isProblem(t, await caller.call('auth.device.deny', {}, { body: { userCode: login.userCode } }), 'scope_required');
      const query = { userCode: login.userCode };
      isProblem(t, await caller.call('auth.device.lookup', {}, { query }), 'scope_required');
    }
    t.is((await asked(login)).body.status, 'authorization_pending');
  }
  const { device } = await signIn(stack(), ada);
  const login = await start();
  t.is((await approve(device, login)).status, 200, 'a session with everything can');
});

test.serial('nothing is approved by an address alone', async (t) => {
  const ada = await stack().user();
  const login = await start();
  const code = { userCode: login.userCode, user_code: login.userCode };
  const paths = [
    '/auth/device',
    '/api/auth/device/approve',
    '/api/auth/device/lookup',
    '/api/auth/device/poll',
    '/api/auth/device/start',
  ];
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      await rawRequest(stack().url, {
        method,
        path: `${path}?${new URLSearchParams(code).toString()}`,
        headers: { authorization: `Bearer ${ada.token}` },
      });
  isProblem(t, await ada.request('POST', '/api/auth/device/approve', { query: code }), 'invalid_request');
  isProblem(t, await ada.request('POST', '/api/auth/device/approve', { query: code, body: {} }), 'invalid_request');
  t.like(await newest(), { status: 'pending', userId: null });
  t.is((await asked(login)).body.status, 'authorization_pending');
});

test.serial('only hashes of the codes stand in the database', async (t) => {
  const login = await start();
  const { rows } = await stack().db.raw<{ rows: { text: string }[] }>('select d::text as text from device_logins d');
  const text = rows
    .map((row) => row.text)
    .join('\n')
    .toUpperCase();
  const bare = login.userCode.replace('-', '');
  for (const secret of [login.deviceCode, login.userCode, bare])
    for (const form of [secret, Buffer.from(secret).toString('hex')]) t.false(text.includes(form.toUpperCase()));
});
