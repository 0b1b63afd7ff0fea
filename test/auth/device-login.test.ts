import test from 'ava';
import { isToken } from '../../src/models/opaque-token.js';
import type { Reply } from '../support/a-caller.js';
import { poll, approve, type StartedLogin, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
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
