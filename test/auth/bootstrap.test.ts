import test from 'ava';
import { newId } from '../../src/models/new-id.js';
import { randomToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { aBootstrap, aRuntime, type Bootstrap, exchange } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';

const stack = withStack(test, { workers: false });

const anAgentId = async (): Promise<string> => (await (await stack().user()).anAgent()).id;
const statuses = (replies: Reply[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
const exchangeAt = (at: ACaller, bootstrap: Bootstrap): Promise<Reply> =>
  at.call('runtime.bootstrap.exchange', {}, { body: { ...bootstrap, runtimeVersion: '1.0.0' } });

test('a bootstrap token sent forty times at once, over two API processes, is one family; after its first use none', async (t) => {
  const other = await anotherApi(stack());
  t.teardown(() => other.process.stop());
  const figures: string[] = [];
  for (let round = 0; round < 3; round++) {
    const bootstrap = await aBootstrap(stack(), await anAgentId());
    const forty = () =>
      Promise.all(
        Array.from({ length: 40 }, (_, n) => exchangeAt(n % 2 ? stack().nobody() : other.nobody(), bootstrap)),
      );
    const replies = await forty();
    t.deepEqual(statuses(replies), { 200: 40 });
    const sessions = new Set(replies.map(({ body }) => JSON.stringify(body)));
    const families = await stack().db('token_families').where({ runtimeId: bootstrap.runtimeId });
    t.deepEqual([sessions.size, families.length], [1, 1]);
    const events = await stack().db('audit_events').where({ subjectId: bootstrap.runtimeId });
    t.is(events.length, 1);
    const { status } = await new ACaller(stack().url, replies[0]?.body.accessToken as string).call(
      'runtime.auth.status',
    );
    t.is(status, 200);
    const after = await forty();
    t.deepEqual(statuses(after), { 401: 20, 429: 20 }, 'none, and no more guesses than are allowed');
    figures.push(
      `40 exchanges: ${families.length} family, ${sessions.size} session; 40 after its first use: 0 sessions`,
    );
  }
  t.log(figures.join('\n'));
});

test('after twenty wrong bootstrap tokens in 15 minutes more are refused, and the right one is not', async (t) => {
  const [mine, other] = [await aBootstrap(stack(), await anAgentId()), await aBootstrap(stack(), await anAgentId())];
  const wrong = () => exchange(stack(), { ...mine, bootstrapToken: randomToken('bootstrap') });
  const replies: Reply[] = [];
  for (let tries = 0; tries < 22; tries++) replies.push(await wrong());
  t.log(`22 wrong tokens: ${JSON.stringify(statuses(replies))}`);
  t.deepEqual(statuses(replies), { 401: 20, 429: 2 });
  t.true(Number(replies.at(-1)?.headers.get('retry-after')) > 800);
  t.is((await exchange(stack(), mine)).status, 200, 'a stranger cannot keep the machine out');
  t.is((await exchange(stack(), { ...other, bootstrapToken: randomToken('bootstrap') })).status, 401);
  await stack()
    .db('guesses')
    .update({ triedAt: stack().db.raw(`array(select at - interval '15 minutes' from unnest(tried_at) at)`) })
    .where({ subject: `bootstrap:${mine.runtimeId}` });
  t.is((await wrong()).status, 401, 'when the 15 minutes are over');
});

test('what is no id of a runtime, or a made-up one, is counted nowhere', async (t) => {
  const guesses = async () =>
    (await stack().db('guesses').select('subject')).map(({ subject }: { subject: string }) => subject);
  const madeUp = newId('runtime');
  for (const runtimeId of ['', 'x', '__proto__', 'rt_', 'usr_01jd0000000000000000000000', madeUp])
    isProblem(t, await exchange(stack(), { runtimeId, bootstrapToken: randomToken('bootstrap') }), 'unauthenticated');
  t.deepEqual(
    (await guesses()).filter(
      (subject: string) => subject === `bootstrap:${madeUp}` || !/^bootstrap:rt_[0-9a-z]{26}$/.test(subject),
    ),
    [],
  );
});

test('ids that disagree, in path, body and token, are refused', async (t) => {
  const ada = await stack().user();
  const [one, two] = [await ada.anAgent(), await ada.anAgent()];
  const [first, second] = [await aBootstrap(stack(), one.id), await aBootstrap(stack(), two.id)];
  const mixed = await exchange(stack(), { runtimeId: first.runtimeId, bootstrapToken: second.bootstrapToken });
  isProblem(t, mixed, 'unauthenticated', "another runtime's token, though the owner is the same");
  const claims = { agentId: two.id, userId: 'usr_01jd0000000000000000000000', runtime_id: second.runtimeId };
  const { body } = await exchange(stack(), first, claims);
  t.like(
    body,
    { runtimeId: first.runtimeId, agentId: one.id, userId: one.userId },
    'what a body claims counts for nothing',
  );
  const runtime = new ACaller(stack().url, body.accessToken);
  const told = await runtime.call(
    'runtime.auth.status',
    {},
    { query: { agentId: two.id, runtimeId: second.runtimeId } },
  );
  t.like(told.body, { agentId: one.id });
  const eve = await stack().user();
  const foreign = await eve.anAgent();
  for (const fields of [{ id: foreign.id }, { userId: foreign.userId }])
    isProblem(t, await eve.call('agents.update', { id: foreign.id }, { body: fields }), 'invalid_request');
  isProblem(t, await eve.call('agents.update', { id: one.id }, { body: { name: 'mine' } }), 'not_found');
  t.is((await ada.agent(one.id)).name, 'an agent');
});

test('when its agent was deleted a runtime and its waiting bootstrap token are dead at once', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const runtime = await aRuntime(stack(), id);
  const waiting = await aBootstrap(stack(), id);
  await stack().db('agents').update({ deletedAt: stack().db.fn.now() }).where({ id });
  isProblem(t, await runtime.call('runtime.auth.status'), 'unauthenticated');
  isProblem(t, await exchange(stack(), waiting), 'unauthenticated');
});

test("the caller's runtimes are listed, revoked ones only when asked for (2.8)", async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const [old, present] = [await ada.anAgent(), await ada.anAgent()];
  await aRuntime(stack(), old.id);
  await aBootstrap(stack(), present.id);
  await stack()
    .db('runtime_identities')
    .update({ status: 'revoked', revokedAt: stack().db.fn.now() })
    .where({ agentId: old.id });
  const list = async (query: Record<string, string | number> = {}, by = ada) =>
    (await by.call('runtime.identities.list', {}, { query })).body;
  const shown = (await list()).identities;
  t.like(shown, [{ agentId: present.id, status: 'pending', isActive: false, revokedAt: null }]);
  t.is(shown.length, 1);
  const all = (await list({ includeRevoked: 'true' })).identities;
  t.deepEqual(
    all.map(({ status }: { status: string }) => status),
    ['pending', 'revoked'],
  );
  const page = await list({ includeRevoked: 'true', limit: 1 });
  t.deepEqual((await list({ includeRevoked: 'true', limit: 1, cursor: page.nextCursor })).identities, [all[1]]);
  t.deepEqual((await list({}, eve)).identities, []);
  for (const includeRevoked of ['1', 'yes', ''])
    isProblem(t, await ada.call('runtime.identities.list', {}, { query: { includeRevoked } }), 'invalid_request');
});

const notStrings: unknown[] = [7, true, null, [], ['acp_boot_x'], {}, { toString: 'x' }, [['x']], { $ne: '' }];
const routes: Record<string, Record<string, string>> = {
  'POST /api/runtime/bootstrap/exchange': {
    runtimeId: 'rt_01jd0000000000000000000000',
    bootstrapToken: randomToken('bootstrap'),
    runtimeVersion: '1.0.0',
  },
  'POST /api/runtime/auth/refresh': { refreshToken: randomToken('runtimeRefresh') },
  'POST /api/runtime/auth/revoke': { refreshToken: randomToken('runtimeRefresh') },
  'POST /api/auth/refresh': { refreshToken: randomToken('userRefresh') },
  'POST /api/auth/logout': { refreshToken: randomToken('userRefresh') },
  'POST /api/auth/device/poll': { deviceCode: randomToken('deviceCode') },
};

test.serial(
  'prototypes, arrays, objects and numbers where strings belong are refused, and nothing is stored',
  async (t) => {
    const tables = [
      'token_families',
      'device_logins',
      'idempotency_keys',
      'audit_events',
      'runtime_identities',
      'bootstrap_tokens',
    ];
    const look = async () => Promise.all(tables.map(async (table) => (await stack().db(table)).length));
    const before = await look();
    const send = (route: string, body: string) => {
      const [method = '', path = ''] = route.split(' ');
      return rawRequest(stack().url, { method, path, headers: { 'content-type': 'application/json' }, body });
    };
    let sent = 0;
    for (const [route, body] of Object.entries(routes))
      for (const field of Object.keys(body)) {
        const odd = notStrings.map((value) => JSON.stringify({ ...body, [field]: value }));
        const reaching = [
          JSON.stringify(body).replace(`"${field}":`, `"__proto__":{"${field}":`).replace(/\}$/, '}}'),
          JSON.stringify(body).replace('{', '{"__proto__":{"isOperator":true},'),
          JSON.stringify(body).replace('{', '{"constructor":{"prototype":{"isOperator":true}},'),
        ];
        for (const text of [...odd, ...reaching]) {
          sent += 1;
          isProblem(t, await send(route, text), 'invalid_request', `${route} ${text}`);
        }
      }
    t.deepEqual(await look(), before);
    t.is((Object.prototype as Record<string, unknown>)['isOperator'], undefined);
    t.log(`${sent} bodies on ${Object.keys(routes).length} routes: 400 each, nothing stored`);
  },
);
