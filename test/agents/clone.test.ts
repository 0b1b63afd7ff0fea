import test from 'ava';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);

test('a clone has the configuration and nothing that acts as the original (contract, Agents)', async (t) => {
  const ada = await stack().user();
  const source = await ada.anAgent({
    name: 'Ada',
    persona: 'a mathematician',
    avatar: 'A',
    channels: {
      messengerA: { botToken: '123:abc', greeting: 'hello', nested: { apiKey: 'k', tone: 'dry' } },
      messengerB: { sessionToken: 's', language: 'en' },
    },
    capabilities: { search: true },
  });
  await ada.call('agents.provision', { id: source.id }, { headers: { prefer: 'wait=60' } });
  const { status, body } = await ada.call('agents.clone', { id: source.id });
  t.is(status, 201);
  t.like(body, {
    name: 'Ada (copy)',
    persona: 'a mathematician',
    avatar: 'A',
    status: 'offline',
    desiredStatus: 'offline',
    capabilities: { search: true },
    clonedFromAgentId: source.id,
    hostAppName: null,
    hostMachineId: null,
    hostVolumeId: null,
    gatewayUrl: null,
    runtimeVersion: null,
  });
  t.deepEqual(body.channels, {
    messengerA: { greeting: 'hello', nested: { tone: 'dry' } },
    messengerB: { language: 'en' },
  });
  const row = await stack().db('agents').where({ id: body.id }).first();
  t.is(row.sealedBotToken, null);
  t.is((await stack().db('gateway_tokens').where({ agentId: body.id })).length, 0);
  const provisioned = await ada.call('agents.provision', { id: body.id }, { headers: { prefer: 'wait=60' } });
  t.is(provisioned.body.agent.status, 'online');
  t.not(provisioned.body.agent.hostVolumeId, (await ada.agent(source.id)).hostVolumeId);
});

test('secrets do not travel, however deep and wherever they are', async (t) => {
  const ada = await stack().user();
  const planted = 'planted-7Qx';
  const source = await ada.anAgent({
    channels: {
      messengerA: { accounts: [{ botToken: planted, label: 'work', auth: { user: 'u', pass: planted } }] },
      messengerB: { connections: [{ id: planted }], access_tokens: { main: planted }, keyboard: 'de' },
    },
    capabilities: {
      search: { apiKey: planted, engine: 'wide', headers: [{ name: 'Authorization', value: planted }] },
      tools: [{ url: `https://ada:${planted}@example.com` }, { private_key: [planted], name: 'calc' }],
    },
  });
  const { status, body } = await ada.call('agents.clone', { id: source.id });
  t.is(status, 201);
  t.false(JSON.stringify(await stack().db('agents').where({ id: body.id })).includes(planted));
  t.deepEqual(body.channels, {
    messengerA: { accounts: [{ label: 'work' }] },
    messengerB: { keyboard: 'de' },
  });
  t.deepEqual(body.capabilities, { search: { engine: 'wide', headers: [] }, tools: [{}, { name: 'calc' }] });
});

test("a clone of an agent on a plan above its owner's is refused, as its creation would be", async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  await stack().db('agents').where({ id }).update({ plan: 'pro' });
  const { status, body } = await ada.call('agents.clone', { id });
  t.deepEqual([status, body.code], [402, 'plan_required']);
  t.is((await ada.call('agents.list')).body.agents.length, 1);
});

test('a clone takes a name, and counts against the plan like any agent', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  t.is((await ada.call('agents.clone', { id }, { body: { name: 'Grace' } })).body.name, 'Grace');
  const replies = await Promise.all(Array.from({ length: 8 }, () => ada.call('agents.clone', { id })));
  t.is(replies.filter((reply) => reply.status === 201).length, 3);
  t.true(replies.every((reply) => reply.status === 201 || reply.body.code === 'limit_reached'));
});

test("another user's agent cannot be cloned", async (t) => {
  const { id } = await (await stack().user()).anAgent();
  t.is((await (await stack().user()).call('agents.clone', { id })).status, 404);
});
