import test from 'ava';
import { ACaller, type Reply } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { aRuntime } from '../support/a-runtime.js';
import { startStack, withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false, env: { RATE_LIMITS: 'on', TRUST_PROXY: 'on' } });

let addresses = 0;
const anAddress = (): string => `198.51.100.${++addresses}`;
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
  t.is(leftOf(await ada.call('agents.list')), 598, 'reading and writing have a budget each');
});

test('the 601st read and the 121st write in a minute are refused', async (t) => {
  t.timeout(60_000);
  const ada = await stack().user();
  const reads = await many(610, () => ada.call('users.me'));
  const writes = await many(130, () => ada.call('agents.create', {}, { body: {} }));
  t.log(`of 610 reads ${within(reads)} went through, of 130 writes ${within(writes)}`);
  t.deepEqual([within(reads), within(writes)], [600, 120]);
  const refused = await ada.call('users.me');
  isProblem(t, refused, 'rate_limited');
  const wait = Number(refused.headers.get('retry-after'));
  t.true(wait >= 1 && wait <= 60, String(wait));
  t.is(leftOf(refused), 0);
  t.is(
    (await (await stack().user()).call('users.me')).status,
    200,
    'the next user, from the same address, has a budget of their own',
  );
});

test('a signed-in person has one budget, wherever they call from', async (t) => {
  const ada = await stack().user();
  const from = () => ({ headers: { 'x-forwarded-for': anAddress() } });
  const left: number[] = [];
  for (let calls = 0; calls < 3; calls++) left.push(leftOf(await ada.call('agents.list', {}, from())));
  t.deepEqual(left, [599, 598, 597]);
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

test('bad tokens count against the address they come from', async (t) => {
  const from = anAddress();
  const mallory = new ACaller(stack().url, 'garbage');
  const forwarded = { headers: { 'x-forwarded-for': from } };
  const replies = await many(130, () => mallory.call('agents.create', {}, { body: {}, ...forwarded }));
  t.log(`of 130 writes with a bad token ${within(replies)} were answered 401, the others 429`);
  t.is(within(replies), 120);
  isProblem(t, replies.find(({ status }) => status === 401) as Reply, 'unauthenticated');
  isProblem(t, await mallory.call('agents.create', {}, { body: {}, ...forwarded }), 'rate_limited');
  const ada = await stack().user();
  t.is(
    (await ada.call('agents.create', {}, { body: { name: 'x' }, ...forwarded })).status,
    201,
    'a good token from there still works',
  );
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
