import test from 'ava';
import { randomToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { refresh, type SignedIn, signIn } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';

const stack = withStack(test, { workers: false });

const ask = (token: string): Promise<Reply> => new ACaller(stack().url, token).call('users.me');
const renew = (refreshToken: string): Promise<Reply> => refresh(stack().nobody(), refreshToken);
const aDevice = async (): Promise<SignedIn> => signIn(stack(), await stack().user());
const familyOf = async (userId: string) => stack().db('token_families').where({ userId }).first();
const move = async (userId: string, column: string, interval: string): Promise<void> => {
  await stack()
    .db('token_families')
    .update({ [column]: stack().db.raw(`now() + ?::interval`, [interval]) })
    .where({ userId });
};

test.serial(
  'a refresh token sent forty times at once, over two API processes, is one rotation and one pair',
  async (t) => {
    t.timeout(60_000);
    const other = await anotherApi(stack());
    t.teardown(() => other.process.stop());
    const ada = await stack().user();
    const userId = (await ada.call('users.me')).body.id as string;
    let [slowest, rotations] = [0, 0];
    for (let round = 0; round < 20; round++) {
      const { refreshToken } = await signIn(stack(), ada);
      const began = performance.now();
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, n) => refresh(n % 2 === 0 ? stack().nobody() : other.nobody(), refreshToken)),
      );
      slowest = Math.max(slowest, performance.now() - began);
      t.deepEqual(
        [...new Set(replies.map(({ status }) => status))],
        [200],
        JSON.stringify(replies.find(({ status }) => status !== 200)?.body),
      );
      t.is(new Set(replies.map(({ body }) => JSON.stringify(body))).size, 1);
      const family = await stack().db('token_families').where({ userId }).orderBy('id', 'desc').first();
      t.like(family, { generation: 2, revokedAt: null });
      rotations += family.generation - 1;
      t.is((await ask(replies[0]?.body.accessToken as string)).status, 200);
    }
    t.log(
      `20 rounds × 40 refreshes over 2 processes: ${rotations} rotations, one pair each; slowest round ${Math.round(slowest)} ms`,
    );
  },
);

test.serial(
  'a replay after the successor was used ends the family and its access tokens within a second, everywhere',
  async (t) => {
    const other = await anotherApi(stack());
    t.teardown(() => other.process.stop());
    const first = await aDevice();
    const { body: second } = await renew(first.refreshToken);
    const there = other.as({ token: second.accessToken });
    t.deepEqual([(await ask(second.accessToken)).status, (await there.call('users.me')).status], [200, 200]);
    const began = performance.now();
    isProblem(t, await renew(first.refreshToken), 'token_reused');
    isProblem(t, await there.call('users.me'), 'unauthenticated', 'in another process');
    isProblem(t, await ask(second.accessToken), 'unauthenticated');
    isProblem(t, await ask(first.accessToken), 'unauthenticated');
    const took = performance.now() - began;
    isProblem(t, await renew(second.refreshToken), 'token_reused', 'the honest one learns why');
    t.like(await familyOf(first.userId), { revokeReason: 'reuse' });
    t.log(`replay to dead access tokens on 2 processes: ${Math.round(took)} ms`);
    t.true(took < 1_000);
  },
);

test('twenty replays at once end the family once', async (t) => {
  const first = await aDevice();
  const { body: second } = await renew(first.refreshToken);
  await ask(second.accessToken);
  const replies = await Promise.all(Array.from({ length: 20 }, () => renew(first.refreshToken)));
  t.deepEqual([...new Set(replies.map(({ body }) => body.code))], ['token_reused']);
  const events = await stack().db('audit_events').where({ userId: first.userId, action: 'session.ended_by_reuse' });
  t.is(events.length, 1);
});

test('a token older than the direct predecessor is reuse, however young', async (t) => {
  const first = await aDevice();
  const { body: second } = await renew(first.refreshToken);
  const { body: third } = await renew(second.refreshToken);
  isProblem(t, await renew(first.refreshToken), 'token_reused');
  isProblem(t, await ask(third.accessToken), 'unauthenticated');
});

test('the direct predecessor gets the same successor for 60 s while nothing of it was used', async (t) => {
  const first = await aDevice();
  const { body: second } = await renew(first.refreshToken);
  t.deepEqual((await renew(first.refreshToken)).body, second);
  await move(first.userId, 'rotated_at', '-58 seconds');
  t.deepEqual((await renew(first.refreshToken)).body, second, 'after 58 s');
  await move(first.userId, 'rotated_at', '-61 seconds');
  isProblem(t, await renew(first.refreshToken), 'token_reused', 'after 61 s');
});

test('a refresh is a use of the successor too', async (t) => {
  const first = await aDevice();
  const { body: second } = await renew(first.refreshToken);
  await renew(second.refreshToken);
  isProblem(t, await renew(first.refreshToken), 'token_reused');
});

test('an access token lives an hour, and a refresh does not wake a dead one', async (t) => {
  const first = await aDevice();
  t.is((await ask(first.accessToken)).status, 200);
  await move(first.userId, 'access_expires_at', '0');
  isProblem(t, await ask(first.accessToken), 'token_expired');
  const { body: second } = await renew(first.refreshToken);
  isProblem(t, await ask(first.accessToken), 'token_expired', 'after the refresh');
  t.is((await ask(second.accessToken)).status, 200);
});

test('an access token outlives a refresh by a minute at most: calls under way do not fail', async (t) => {
  const first = await aDevice();
  await renew(first.refreshToken);
  t.is((await ask(first.accessToken)).status, 200);
  t.is((await familyOf(first.userId)).usedAt, null, 'which is no use of its successor');
  await move(first.userId, 'previous_access_expires_at', '0');
  isProblem(t, await ask(first.accessToken), 'token_expired');
  const { previousAccessExpiresAt } = await familyOf(first.userId);
  t.true(previousAccessExpiresAt <= new Date());
});

test('30 days slide with each refresh, 180 days do not', async (t) => {
  const first = await aDevice();
  await move(first.userId, 'refresh_expires_at', '1 day');
  const { body: second } = await renew(first.refreshToken);
  const days = (at: string) => (Date.parse(at) - Date.now()) / 86_400_000;
  t.true(Math.abs(days(second.refreshTokenExpiresAt) - 30) < 0.1);
  await move(first.userId, 'expires_at', '10 days');
  const { body: third } = await renew(second.refreshToken);
  t.true(Math.abs(days(third.refreshTokenExpiresAt) - 10) < 0.1, 'never beyond the absolute end');
  await move(first.userId, 'expires_at', '10 minutes');
  const { body: fourth } = await renew(third.refreshToken);
  t.true(Date.parse(fourth.accessTokenExpiresAt) - Date.now() < 601_000);
  await move(first.userId, 'expires_at', '0');
  isProblem(t, await ask(fourth.accessToken), 'token_expired');
  isProblem(t, await renew(fourth.refreshToken), 'token_expired');
  const late = await aDevice();
  await move(late.userId, 'refresh_expires_at', '0');
  isProblem(t, await renew(late.refreshToken), 'token_expired');
  const fresh = await familyOf((await aDevice()).userId);
  t.true(Math.abs(days(fresh.expiresAt) - 180) < 0.1);
});

test('whoever logs out is out at once, with a token of whatever generation, as often as they like', async (t) => {
  for (const generation of [0, 1, 2]) {
    const tokens = [await aDevice()];
    for (let n = 0; n < 2; n++) tokens.push((await renew(tokens.at(-1)?.refreshToken ?? '')).body as SignedIn);
    const { accessToken, userId } = tokens.at(-1) as SignedIn;
    t.is((await ask(accessToken)).status, 200);
    const body = { refreshToken: tokens[generation]?.refreshToken };
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => stack().nobody().call('auth.logout', {}, { body })),
    );
    for (const reply of replies) t.deepEqual([reply.status, reply.body], [200, { ok: true }]);
    isProblem(t, await ask(accessToken), 'unauthenticated', `generation ${generation + 1} of 3`);
    isProblem(t, await renew(tokens.at(-1)?.refreshToken ?? ''), 'unauthenticated');
    t.is(
      (
        await stack()
          .db('audit_events')
          .where({ userId: tokens[0]?.userId ?? userId, action: 'session.ended' })
      ).length,
      1,
    );
  }
  for (const refreshToken of ['', 'garbage', randomToken('userRefresh'), randomToken('runtimeRefresh')])
    t.deepEqual((await stack().nobody().call('auth.logout', {}, { body: { refreshToken } })).body, { ok: true });
});

test('an access token cannot refresh, a refresh token opens nothing', async (t) => {
  const { accessToken, refreshToken } = await aDevice();
  isProblem(t, await renew(accessToken), 'unauthenticated');
  isProblem(t, await ask(refreshToken), 'unauthenticated');
  for (const token of ['', 'garbage', randomToken('userRefresh'), `${refreshToken}x`, refreshToken.slice(0, -1)])
    isProblem(t, await renew(token), 'unauthenticated', token);
  await stack()
    .nobody()
    .call('auth.logout', {}, { body: { refreshToken: accessToken } });
  t.is((await ask(accessToken)).status, 200, 'nor can it log out');
});

test('only hashes of tokens stand in the database', async (t) => {
  const first = await aDevice();
  const { body: second } = await renew(first.refreshToken);
  let searched = 0;
  for (const table of ['token_families', 'spent_refresh_tokens', 'audit_events', 'device_logins']) {
    const { rows } = await stack().db.raw<{ rows: { text: string }[] }>('select r::text as text from ?? as r', [table]);
    const text = rows.map((row) => row.text).join('\n');
    searched += text.length;
    for (const token of [first.accessToken, first.refreshToken, second.accessToken, second.refreshToken] as string[])
      for (const form of [token, token.slice(8, 40), Buffer.from(token).toString('hex')])
        t.false(text.includes(form), table);
  }
  t.log(`4 tokens in 3 forms, looked for in ${searched} characters of 4 tables: none`);
});
