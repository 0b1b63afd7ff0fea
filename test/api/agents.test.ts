import test from 'ava';
import { Agent } from '../../src/contract/shapes/agent.js';
import type { ACaller } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });
/** Of the plan `free` in test/support/plans.json. */
const MAX_AGENTS = 5;

const update = (ada: ACaller, id: string, body: Record<string, unknown>) => ada.call('agents.update', { id }, { body });

test('a new agent is offline and has nothing at the host (2.4)', async (t) => {
  const ada = await stack().user();
  const { status, body } = await ada.call('agents.create', {}, { body: { name: 'Butler' } });
  t.is(status, 201);
  t.true(Agent.safeParse(body).success);
  t.like(body, { name: 'Butler', persona: '', avatar: '', status: 'offline', desiredStatus: 'offline', plan: 'free' });
  t.like(body, { channels: {}, capabilities: {}, usageMessages: 0, usageTokensUsed: 0, clonedFromAgentId: null });
  for (const field of [
    'hostAppName',
    'hostMachineId',
    'hostVolumeId',
    'gatewayUrl',
    'region',
    'lastError',
    'activeJobId',
  ])
    t.is(body[field], null, field);
  t.deepEqual((await ada.call('agents.get', { id: body.id })).body, body);
  t.deepEqual((await ada.call('agents.list')).body, { agents: [body], nextCursor: null });
});

test('agents are listed newest first, page by page, each owner their own', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  await eve.anAgent();
  const ids: string[] = [];
  for (let n = 0; n < MAX_AGENTS; n++) ids.unshift((await ada.anAgent()).id);
  const first = (await ada.call('agents.list', {}, { query: { limit: 3 } })).body;
  const second = (await ada.call('agents.list', {}, { query: { limit: 3, cursor: first.nextCursor } })).body;
  t.deepEqual(
    [...first.agents, ...second.agents].map((agent: Agent) => agent.id),
    ids,
  );
  t.is(second.nextCursor, null);
});

test('twenty creates at once never pass the number of agents that the plan allows', async (t) => {
  const ada = await stack().user();
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, n) => ada.call('agents.create', {}, { body: { name: `agent ${n}` } })),
  );
  t.is(replies.filter((reply) => reply.status === 201).length, MAX_AGENTS);
  for (const reply of replies.filter((reply) => reply.status !== 201)) isProblem(t, reply, 'limit_reached');
  t.is((await ada.call('agents.list')).body.agents.length, MAX_AGENTS);
});

test('an agent is on a plan up to its owner’s', async (t) => {
  const ada = await stack().user();
  t.is((await ada.anAgent({ plan: 'free' })).plan, 'free');
  for (const plan of ['starter', 'pro', 'team'])
    isProblem(t, await ada.call('agents.create', {}, { body: { name: 'x', plan } }), 'plan_required', plan);
  for (const plan of ['gold', '', 'FREE', 'constructor', 'x'.repeat(41)])
    isProblem(t, await ada.call('agents.create', {}, { body: { name: 'x', plan } }), 'invalid_request', plan);
});

test('a change touches what was sent and nothing else', async (t) => {
  const ada = await stack().user();
  const before = await ada.anAgent({ persona: 'polite', channels: { a: { b: 1 } } });
  t.deepEqual((await update(ada, before.id, {})).body, before, '{} is a no-op');
  const { body } = await update(ada, before.id, { name: 'New name', avatar: '🤖' });
  t.deepEqual({ ...body, updatedAt: '' }, { ...before, name: 'New name', avatar: '🤖', updatedAt: '' });
  t.true(body.updatedAt > before.updatedAt);
});

test('what only the service decides cannot be written', async (t) => {
  const ada = await stack().user();
  const before = await ada.anAgent();
  for (const field of Object.keys(before).filter(
    (name) => !['name', 'persona', 'avatar', 'channels', 'capabilities'].includes(name),
  ))
    isProblem(t, await update(ada, before.id, { [field]: 'online' }), 'invalid_request', field);
  t.deepEqual(await ada.agent(before.id), before);
});

test('channels and capabilities are merged by key, null removes (RFC 7396)', async (t) => {
  const ada = await stack().user();
  const target = { a: { b: 'c', d: { e: 1, f: 2 } }, list: [1, 2], keep: true };
  const patch = { a: { b: null, d: { e: 9 }, n: { m: null, o: 1 } }, list: [3], gone: null, text: { x: 1 } };
  const merged = { a: { d: { e: 9, f: 2 }, n: { o: 1 } }, list: [3], keep: true, text: { x: 1 } };
  for (const field of ['channels', 'capabilities'] as const) {
    const { id } = await ada.anAgent({ [field]: target });
    t.deepEqual((await update(ada, id, { [field]: patch })).body[field], merged);
    t.deepEqual((await update(ada, id, { [field]: { a: 1, text: null } })).body[field], {
      a: 1,
      list: [3],
      keep: true,
    });
    t.deepEqual((await ada.agent(id))[field], { a: 1, list: [3], keep: true });
    isProblem(t, await update(ada, id, { [field]: null }), 'invalid_request');
  }
});

test('changes made at once are all kept', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  await Promise.all(Array.from({ length: 20 }, (_, n) => update(ada, id, { capabilities: { [`k${n}`]: n } })));
  t.is(Object.keys((await ada.agent(id)).capabilities).length, 20);
});

test('the limits hold for what merging adds up to, not for one request alone', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const half = 'x'.repeat(9 * 1024);
  for (const field of ['channels', 'capabilities']) {
    t.is((await update(ada, id, { [field]: { first: half } })).status, 200);
    const tooLarge = await update(ada, id, { [field]: { second: half } });
    isProblem(t, tooLarge, 'invalid_request', 'two halves of more than 16 KiB');
    t.is(tooLarge.body.errors[0].pointer, `/${field}`);
    t.is((await update(ada, id, { [field]: { first: null, second: half } })).status, 200, 'one for the other fits');
  }
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { k: deep(levels - 1) });
  t.is((await update(ada, id, { capabilities: { a: deep(7) } })).status, 200, 'eight levels');
  isProblem(t, await update(ada, id, { capabilities: { a: deep(8) } }), 'invalid_request', 'nine levels');
});
