import test from 'ava';
import { randomToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { aNamedToken } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { aRuntime } from '../support/a-runtime.js';
import { startStack, withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

const stack = withStack(test, { workers: false, env: { RATE_LIMITS: 'on', TRUST_PROXY: 'on' } });

let addresses = 0;
const anAddress = (): string => `198.51.100.${++addresses}`;
let networks = 0;
const anIpv6Network = (): string => `2001:db8:0:${(++networks).toString(16)}`;
const many = async (count: number, ask: () => Promise<Reply>): Promise<Reply[]> => {
  const replies: Reply[] = [];
  while (replies.length < count)
    replies.push(...(await Promise.all(Array.from({ length: Math.min(40, count - replies.length) }, ask))));
  return replies;
};
const within = (replies: Reply[]): number => replies.filter(({ status }) => status !== 429).length;
const leftOf = ({ headers }: Reply): number => Number(/;r=(\d+);t=\d+$/.exec(headers.get('ratelimit') ?? '')?.[1]);

test('every answer tells the budget and what is left of it', async (t) => {
  const ada = await stack().user();
  const read = await ada.call('agents.list');
  t.is(read.headers.get('ratelimit-policy'), '"read";q=600;w=60');
  t.regex(read.headers.get('ratelimit') ?? '', /^"read";r=599;t=\d+$/);
  const write = await ada.call('agents.create', {}, { body: {} });
  t.is(write.headers.get('ratelimit-policy'), '"write";q=120;w=60', 'also with an error');
  t.is(leftOf(write), 119);
  t.true(leftOf(await ada.call('agents.list')) >= 598, 'reading and writing have a budget each');
});

test('of a flood of reads and writes what the budget holds goes through, and what it gains meanwhile', async (t) => {
  t.timeout(60_000);
  const ada = await stack().user();
  const flood = async (count: number, perSecond: number, ask: () => Promise<Reply>): Promise<[number, number]> => {
    const began = performance.now();
    const through = within(await many(count, ask));
    return [through, Math.ceil(((performance.now() - began) / 1_000) * perSecond)];
  };
  const [reads, readsGained] = await flood(900, 10, () => ada.call('users.me'));
  const [writes, writesGained] = await flood(200, 2, () => ada.call('agents.create', {}, { body: {} }));
  t.log(`of 900 reads ${reads} went through (600 + ${readsGained}), of 200 writes ${writes} (120 + ${writesGained})`);
  t.true(reads >= 600 && reads <= 600 + readsGained);
  t.true(writes >= 120 && writes <= 120 + writesGained);
  const refused = (await many(40, () => ada.call('agents.create', {}, { body: {} }))).at(-1);
  isProblem(t, refused as Reply, 'rate_limited');
  t.is(refused?.headers.get('retry-after'), '1', 'a token comes every half second');
  t.is(leftOf(refused as Reply), 0);
  t.is(
    (await (await stack().user()).call('users.me')).status,
    200,
    'the next user, from the same address, has a budget of their own',
  );
});

test('a signed-in person has one budget, wherever they call from', async (t) => {
  const ada = await stack().user();
  const from = () => ({ headers: { 'x-forwarded-for': anAddress() } });
  const replies = await Promise.all(Array.from({ length: 40 }, () => ada.call('agents.list', {}, from())));
  const least = Math.min(...replies.map(leftOf));
  t.log(`after 40 reads from 40 addresses ${least} of 600 were left`);
  t.true(least >= 560 && least < 599);
  const runtime = await aRuntime(stack(), (await ada.anAgent()).id);
  t.is(leftOf(await runtime.call('runtime.auth.status')), 599, 'a runtime has its own');
});

test('an address may start ten device logins a minute', async (t) => {
  const from = anAddress();
  const start = (address: string) =>
    stack()
      .nobody()
      .call('auth.device.start', {}, { body: {}, headers: { 'x-forwarded-for': address } });
  const replies = await many(14, () => start(from));
  t.log(`of 14 device starts of one address ${within(replies)} went through`);
  t.is(within(replies), 10);
  t.is(replies[0]?.headers.get('ratelimit-policy'), '"device-start";q=10;w=60');
  isProblem(t, await start(from), 'rate_limited');
  isProblem(t, await start(`${anAddress()}, ${from}`), 'rate_limited', 'whatever the caller itself claims');
  t.is((await start(anAddress())).status, 200);
});

test('bad tokens count against the network they come from; beyond its budget unknown ones are not looked up', async (t) => {
  const network = anIpv6Network();
  const from = (host: number) => ({ headers: { 'x-forwarded-for': `${network}::${host}` } });
  const [ada, eve] = [await stack().user(), await stack().user()];
  t.is((await ada.call('agents.list', {}, from(1))).status, 200);
  let host = 1;
  const flood = () => new ACaller(stack().url, randomToken('userAccess')).call('agents.list', {}, from(++host));
  const replies = await many(160, flood);
  t.log(`of 160 reads with bad tokens from one network ${within(replies)} were looked up, the others refused`);
  t.true(within(replies) >= 120 && within(replies) <= 135);
  isProblem(t, replies.find(({ status }) => status === 401) as Reply, 'unauthenticated');
  const refused = replies.find(({ status }) => status === 429) as Reply;
  isProblem(t, refused, 'rate_limited');
  t.is(refused.headers.get('ratelimit-policy'), '"bad-token";q=120;w=60');
  await until('a bearer not seen before, from there, is refused', async () => {
    const [strange] = await Promise.all([
      stack()
        .user()
        .then((someone) => many(20, flood).then(() => someone.call('agents.list', {}, from(2)))),
      many(40, flood),
    ]);
    return strange.status === 429;
  });
  t.is((await ada.call('agents.list', {}, from(2))).status, 200, 'one that was good before goes on');
  t.is((await eve.call('agents.list')).status, 200, 'elsewhere nothing has happened');
});

test('a bearer that has expired is told so, whatever its neighbours send', async (t) => {
  const from = { headers: { 'x-forwarded-for': anAddress() } };
  const ada = await stack().user();
  const { caller, sessionId } = await aNamedToken(stack(), ada);
  t.is((await caller.call('users.me', {}, from)).status, 200);
  await stack().db('token_families').update({ expiresAt: stack().db.fn.now() }).where({ id: sessionId });
  const mallory = () => new ACaller(stack().url, randomToken('userAccess')).call('agents.list', {}, from);
  await many(160, mallory);
  isProblem(t, await caller.call('users.me', {}, from), 'token_expired');
  await until('once: from then on it is a bad one like others', async () => {
    const [reply] = await Promise.all([
      many(40, mallory).then(() => caller.call('users.me', {}, from)),
      many(40, mallory),
    ]);
    return reply.status === 429;
  });
});

test('who asks for what operators may is counted like anybody', async (t) => {
  const ada = await stack().user();
  const reply = await ada.call('operator.attention.list');
  isProblem(t, reply, 'operator_required');
  t.is(reply.headers.get('ratelimit-policy'), '"read";q=600;w=60');
});

test('without a proxy of ours nobody can choose an address', async (t) => {
  const plain = await startStack({ workers: false, env: { RATE_LIMITS: 'on' } });
  t.teardown(() => plain.close());
  const start = () =>
    plain.nobody().call('auth.device.start', {}, { body: {}, headers: { 'x-forwarded-for': anAddress() } });
  t.is(within(await many(14, start)), 10);
  const { address } = await plain.db('device_logins').first();
  t.regex(address, /127\.0\.0\.1$/);
});

test('health and documents are not counted', async (t) => {
  for (const path of ['/healthz', '/readyz', '/api/openapi.json']) {
    const reply = await stack().nobody().request('GET', path);
    t.is(reply.status, 200);
    t.is(reply.headers.get('ratelimit'), null);
  }
});
