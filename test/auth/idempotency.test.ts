import test from 'ava';
import type { ACaller, Reply } from '../support/a-caller.js';
import { aNamedToken } from '../support/a-device-login.js';
import { endJob } from '../support/a-job.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';
import { authKinds } from '../support/the-table.js';

const stack = withStack(test, { workers: false });

let keys = 0;
const aKey = (): string => `key-${++keys}`;
const create = (by: ACaller, key: string, body: Record<string, unknown> = { name: 'an agent' }): Promise<Reply> =>
  by.call('agents.create', {}, { body, headers: { 'idempotency-key': key } });
const isReplay = ({ headers }: Reply): boolean => headers.get('idempotent-replayed') === 'true';
const agentsOf = async (by: ACaller): Promise<{ id: string }[]> => (await by.call('agents.list')).body.agents;

test('the same key gets the same answer, marked as a replay', async (t) => {
  const ada = await stack().user();
  const key = aKey();
  const first = await create(ada, key);
  const again = await create(ada, key);
  t.is(first.status, 201);
  t.false(isReplay(first));
  t.is(again.status, 201);
  t.true(isReplay(again));
  t.deepEqual(again.body, first.body);
  t.is((await agentsOf(ada)).length, 1);
  const without = [await ada.anAgent(), await ada.anAgent()];
  t.is(new Set(without.map(({ id }) => id)).size, 2, 'without a key each request is its own');
});

test('twenty at once with one key, over two API processes, make one agent', async (t) => {
  const other = await anotherApi(stack());
  t.teardown(() => other.process.stop());
  for (let round = 0; round < 3; round++) {
    const ada = await stack().user();
    await ada.call('users.me');
    const key = aKey();
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => create(n % 2 ? ada : other.as(ada), key)));
    t.deepEqual([...new Set(replies.map(({ status }) => status))], [201]);
    t.is(new Set(replies.map(({ body }) => body.id)).size, 1);
    t.is(replies.filter((reply) => !isReplay(reply)).length, 1);
    t.is((await agentsOf(ada)).length, 1);
    t.log('20 creates at once with one key on 2 processes: 1 agent, 19 replays');
  }
});

test('twenty starts at once with one key are one job', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const key = aKey();
  const provision = () => ada.call('agents.provision', { id }, { headers: { 'idempotency-key': key } });
  const replies = await Promise.all(Array.from({ length: 20 }, provision));
  t.deepEqual([...new Set(replies.map(({ status }) => status))], [202]);
  t.is(new Set(replies.map(({ body }) => body.job.id)).size, 1);
  t.is((await stack().db('jobs').where({ agentId: id })).length, 1);
  const [first] = replies;
  await endJob(stack(), first?.body.job, { status: 'succeeded' });
  const late = await provision();
  t.true(isReplay(late));
  t.like(late.body.job, { id: first?.body.job.id, status: 'succeeded' }, 'rendered as it now stands, and no new job');
  t.is(late.headers.get('location'), first?.headers.get('location') ?? '');
  t.log(`20 provisions at once with one key: 1 job; replayed after its end as ${late.body.job.status}`);
});

test('the same key with another request is refused', async (t) => {
  const ada = await stack().user();
  const key = aKey();
  await create(ada, key);
  isProblem(t, await create(ada, key, { name: 'another' }), 'idempotency_key_reused');
  const [one, two] = [await ada.anAgent(), await ada.anAgent()];
  const provision = (id: string) => ada.call('agents.provision', { id }, { headers: { 'idempotency-key': key } });
  t.is((await provision(one.id)).status, 202, 'the key belongs to the endpoint');
  isProblem(t, await provision(two.id), 'idempotency_key_reused', 'another path is another request');
});

test("another user's key of the same name is another key", async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const key = aKey();
  const [hers, theirs] = [await create(ada, key), await create(eve, key, { name: 'quite another' })];
  t.deepEqual([hers.status, theirs.status], [201, 201]);
  t.false(isReplay(theirs));
  t.not(hers.body.id, theirs.body.id);
  const { caller } = await aNamedToken(stack(), ada);
  t.true(isReplay(await create(caller, key)), 'a session of the same user shares them');
});

test('a request that failed keeps nothing', async (t) => {
  const ada = await stack().user();
  const key = aKey();
  isProblem(t, await create(ada, key, { name: '' }), 'invalid_request');
  isProblem(t, await create(ada, key, { name: 'x', plan: 'team' }), 'plan_required');
  const { id } = await ada.anAgent();
  const start = () => ada.call('agents.start', { id }, { headers: { 'idempotency-key': key } });
  isProblem(t, await start(), 'agent_not_provisioned');
  t.is((await stack().db('idempotency_keys').where({ key })).length, 0);
  t.is((await create(ada, key)).status, 201);
});

test('a replay shows the present state, and says when there is nothing left', async (t) => {
  const ada = await stack().user();
  const key = aKey();
  const { body: agent } = await create(ada, key);
  await ada.call('agents.update', { id: agent.id }, { body: { name: 'renamed' } });
  const replay = await create(ada, key);
  t.like(replay.body, { id: agent.id, name: 'renamed' });
  const { body } = await ada.call('agents.delete', { id: agent.id });
  await endJob(stack(), body.job, { status: 'succeeded' });
  isProblem(t, await create(ada, key), 'not_found', 'the agent is gone');
  t.is((await agentsOf(ada)).length, 0);
});

test('a secret is never told again', async (t) => {
  const ada = await stack().user();
  const key = aKey();
  const make = (name: string) =>
    ada.call(
      'auth.tokens.create',
      {},
      { body: { name, scopes: ['read'], expiresInDays: 1 }, headers: { 'idempotency-key': key } },
    );
  const replies = await Promise.all(Array.from({ length: 10 }, () => make('once')));
  t.deepEqual(
    replies.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, ...Array.from({ length: 9 }, () => 409)],
  );
  isProblem(t, replies.find(({ status }) => status === 409) as Reply, 'conflict');
  isProblem(t, await make('twice'), 'idempotency_key_reused');
  t.is((await ada.call('auth.sessions.list')).body.sessions.length, 1);
  const { rows } = await stack().db.raw<{ rows: { text: string }[] }>('select k::text as text from idempotency_keys k');
  t.false(rows.some(({ text }) => text.includes('acp_')));
});

test('a key is 1 to 255 visible characters', async (t) => {
  const ada = await stack().user();
  for (const key of ['k'.repeat(256), 'two words', 'tab\there', 'é'])
    isProblem(t, await create(ada, key), 'invalid_request', key.slice(0, 20));
  t.is((await create(ada, 'k'.repeat(255))).status, 201);
  t.is((await agentsOf(ada)).length, 1);
});

test('a key is kept for 24 hours', async (t) => {
  const ada = await stack().user();
  const key = aKey();
  await create(ada, key);
  const age = (interval: string) =>
    stack()
      .db('idempotency_keys')
      .update({ createdAt: stack().db.raw('now() - ?::interval', [interval]) })
      .where({ key });
  await age('23 hours 59 minutes');
  t.true(isReplay(await create(ada, key)));
  await age('24 hours 1 minute');
  const anew = await create(ada, key);
  t.is(anew.status, 201);
  t.false(isReplay(anew));
  t.is((await agentsOf(ada)).length, 2);
});

test('every POST that creates something or starts a job honours the key', (t) => {
  const keyed = authKinds('user', 'operator', 'runtime').filter(({ endpoint }) => endpoint.keyed === true);
  const posts = authKinds('user', 'operator', 'runtime').filter(
    ({ endpoint, method }) =>
      method === 'POST' &&
      (endpoint.job !== undefined || 201 in endpoint.output || endpoint.id === 'operator.jobs.retry'),
  );
  t.deepEqual(
    keyed.map(({ endpoint }) => endpoint.id),
    posts.map(({ endpoint }) => endpoint.id),
  );
});
