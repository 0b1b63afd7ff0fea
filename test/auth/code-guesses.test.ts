import test from 'ava';
import { hashToken, randomToken } from '../../src/models/opaque-token.js';
import type { ACaller, Reply } from '../support/a-caller.js';
import { poll, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';

const stack = withStack(test, { workers: false, env: { TRUST_PROXY: 'on' } });

let addresses = 0;
/** An address nobody has called from: what one test guesses is not counted against the next. */
const anAddress = (): string => `203.0.113.${++addresses}`;

const guess = (by: ACaller, userCode: string, from: string): Promise<Reply> =>
  by.call('auth.device.approve', {}, { body: { userCode }, headers: { 'x-forwarded-for': from } });

const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
let wrong = 0;
/** A code that nobody was given, each time another one. */
const aWrongCode = (): string => {
  const digits = (wrong++).toString(LETTERS.length).padStart(4, '0');
  return `BBBB-${digits.replaceAll(/./g, (digit) => LETTERS.charAt(Number.parseInt(digit, LETTERS.length)))}`;
};

const anonymous = ({ status, body }: Reply) => ({ status, ...body, requestId: '' });
const statuses = (replies: Reply[]): string => {
  const counts = new Map<number, number>();
  for (const { status } of replies) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status}×${count}`)
    .join(' ');
};

test('a wrong, an expired and a used code are one and the same 404', async (t) => {
  const ada = await stack().user();
  const from = anAddress();
  const used = await startLogin(stack().nobody());
  await guess(ada, used.userCode, from);
  const expired = await startLogin(stack().nobody());
  const { db } = stack();
  const deviceCodeHash = hashToken(expired.deviceCode);
  t.is(await db('device_logins').update({ expiresAt: db.fn.now() }).where({ deviceCodeHash }), 1);
  const answers = [];
  for (const code of [aWrongCode(), used.userCode, expired.userCode, '', 'ÄÖÜ']) {
    const reply = await guess(ada, code, from);
    isProblem(t, reply, 'not_found', code);
    answers.push(JSON.stringify(anonymous(reply)));
  }
  t.is(new Set(answers).size, 1);
});

test('the sixth wrong code in 15 minutes is refused, and so is a right one', async (t) => {
  const ada = await stack().user();
  const from = anAddress();
  const login = await startLogin(stack().nobody());
  const seen: Reply[] = [];
  for (let tries = 0; tries < 6; tries++) seen.push(await guess(ada, aWrongCode(), from));
  const right = await guess(ada, login.userCode, from);
  isProblem(t, right, 'rate_limited');
  const wait = Number(right.headers.get('retry-after'));
  t.log(
    `six wrong codes: ${seen.map(({ status }) => status).join(', ')}; then a right one: ${right.status}, Retry-After ${wait} s`,
  );
  t.deepEqual(
    seen.map(({ status }) => status),
    [404, 404, 404, 404, 404, 429],
  );
  t.true(wait > 880 && wait <= 900, String(wait));
  const query = { userCode: login.userCode };
  const looked = await ada.call('auth.device.lookup', {}, { query, headers: { 'x-forwarded-for': anAddress() } });
  isProblem(t, looked, 'rate_limited', 'looking is guessing, wherever from');
  isProblem(t, await ada.call('auth.device.deny', {}, { body: query }), 'rate_limited');
  t.is((await poll(stack().nobody(), login)).body.status, 'authorization_pending');
  t.is((await guess(await stack().user(), login.userCode, from)).status, 200, "the lock is that user's alone");
});

test('right codes are free', async (t) => {
  const ada = await stack().user();
  const from = anAddress();
  for (let logins = 0; logins < 30; logins++) {
    const login = await startLogin(stack().nobody());
    t.is((await guess(ada, login.userCode, from)).status, 200);
  }
  const login = await startLogin(stack().nobody());
  const look = () => ada.call('auth.device.lookup', {}, { query: { userCode: login.userCode } });
  for (let looks = 0; looks < 10; looks++) t.is((await look()).status, 200);
});

test('a lock is over 15 minutes after the wrong codes, one by one', async (t) => {
  const ada = await stack().user();
  const from = anAddress();
  for (let tries = 0; tries < 5; tries++) await guess(ada, aWrongCode(), from);
  const { id } = (await ada.call('users.me')).body;
  const age = (seconds: number) =>
    stack()
      .db('guesses')
      .update({
        triedAt: stack().db.raw(`array(select at - make_interval(secs => ${seconds}) from unnest(tried_at) at)`),
      })
      .where({ subject: `user-code:${id}` });
  await age(890);
  t.is((await guess(ada, aWrongCode(), from)).status, 429, 'after 14:50');
  await age(11);
  const seen: Reply[] = [];
  for (let tries = 0; tries < 4; tries++) seen.push(await guess(ada, aWrongCode(), from));
  await age(600);
  for (let tries = 0; tries < 2; tries++) seen.push(await guess(ada, aWrongCode(), from));
  t.log(`four wrong codes after the lock, two more 10 minutes later: ${seen.map(({ status }) => status).join(', ')}`);
  t.deepEqual(
    seen.map(({ status }) => status),
    [404, 404, 404, 404, 404, 429],
    'no 15 minutes hold six',
  );
});

test('of twenty wrong codes at once, over two API processes, exactly five are looked at', async (t) => {
  const other = await anotherApi(stack());
  t.teardown(() => other.process.stop());
  for (let round = 0; round < 5; round++) {
    const ada = await stack().user();
    const there = other.as(ada);
    const from = anAddress();
    await ada.call('users.me');
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => guess(n % 2 === 0 ? ada : there, aWrongCode(), from)),
    );
    t.log(`20 wrong codes at once on 2 processes: ${statuses(replies)}`);
    t.is(statuses(replies), '404×5 429×15');
    const login = await startLogin(stack().nobody());
    t.is((await guess(there, login.userCode, from)).status, 429);
  }
});

test('an address may be wrong twenty times, whoever asks from there', async (t) => {
  const from = anAddress();
  const replies: Reply[] = [];
  for (let person = 0; person < 5; person++) {
    const user = await stack().user();
    for (let tries = 0; tries < 5; tries++) replies.push(await guess(user, aWrongCode(), from));
  }
  t.log(`five people with five wrong codes each at one address: ${statuses(replies)}`);
  t.is(statuses(replies), '404×20 429×5');
  const late = await stack().user();
  const login = await startLogin(stack().nobody());
  t.is((await guess(late, login.userCode, from)).status, 429);
  t.is((await guess(late, login.userCode, anAddress())).status, 200, 'from elsewhere');
});

test('what one person was refused does not count against the address', async (t) => {
  const from = anAddress();
  const ada = await stack().user();
  for (let tries = 0; tries < 40; tries++) await guess(ada, aWrongCode(), from);
  const login = await startLogin(stack().nobody());
  t.is((await guess(await stack().user(), login.userCode, from)).status, 200);
});

test('an unknown device code is a 404, and a flood of them a 429', async (t) => {
  const from = anAddress();
  const ask = (deviceCode: string) =>
    stack()
      .nobody()
      .call('auth.device.poll', {}, { body: { deviceCode }, headers: { 'x-forwarded-for': from } });
  const replies: Reply[] = [];
  for (let tries = 0; tries < 32; tries++) replies.push(await ask(tries % 2 ? randomToken('deviceCode') : 'acp_dev_x'));
  t.log(`32 unknown device codes: ${statuses(replies)}`);
  t.is(statuses(replies), '404×30 429×2');
  isProblem(t, replies[0] as Reply, 'not_found');
  isProblem(t, replies[31] as Reply, 'rate_limited');
  t.true(Number(replies[31]?.headers.get('retry-after')) <= 60);
  const login = await startLogin(stack().nobody());
  t.is((await ask(login.deviceCode)).status, 200, 'a right one is answered all the same');
});
