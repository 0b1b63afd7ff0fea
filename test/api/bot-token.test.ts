import test from 'ava';
import type { ACaller } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });
const TOKEN = '123456789:AAF-planted-secret-of-the-messenger';

const write = async (ada: ACaller, id: string, messengerA: unknown) =>
  (await ada.call('agents.update', { id }, { body: { channels: { messengerA } } })).body;

/** Names of the tables in which the text stands anywhere, in plain or in base64. */
const tablesHolding = async (text: string): Promise<string[]> => {
  const { db } = stack();
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  );
  const needles = [text, Buffer.from(text).toString('base64').slice(0, 20), Buffer.from(text).toString('hex')];
  const holding: string[] = [];
  for (const { name } of rows)
    for (const needle of needles) {
      const found = await db.raw<{ rows: unknown[] }>(`select 1 from ?? as r where strpos(r::text, ?) > 0`, [
        name,
        needle,
      ]);
      if (found.rows.length > 0) holding.push(name);
    }
  return holding;
};

test('a bot token is never returned and never stands in the database in plain', async (t) => {
  const ada = await stack().user();
  const created = await ada.anAgent({
    name: 'marker-of-this-test',
    channels: { messengerA: { botToken: TOKEN, greeting: 'hi' } },
  });
  t.deepEqual(created.channels, { messengerA: { greeting: 'hi', hasBotToken: true } });
  const changed = await write(ada, created.id, { botToken: `${TOKEN}2` });
  t.deepEqual(changed.channels, { messengerA: { greeting: 'hi', hasBotToken: true } });
  for (const id of ['agents.get', 'agents.list', 'agents.status'] as const)
    t.false(JSON.stringify((await ada.call(id, { id: created.id })).body).includes('planted-secret'), id);
  t.deepEqual(await tablesHolding('marker-of-this-test'), ['agents'], 'the search finds what is there');
  t.deepEqual(await tablesHolding('planted-secret'), []);
  t.deepEqual(await tablesHolding(TOKEN), []);
  const { sealedBotToken } = await stack().db('agents').where({ id: created.id }).first();
  t.deepEqual(Object.keys(sealedBotToken).toSorted(), ['keyId', 'nonce', 'text']);
});

test('an agent without a bot token says so by silence', async (t) => {
  const ada = await stack().user();
  const { id, channels } = await ada.anAgent({ channels: { messengerA: { greeting: 'hi' } } });
  t.deepEqual(channels, { messengerA: { greeting: 'hi' } });
  t.deepEqual((await write(ada, id, { botToken: TOKEN })).channels.messengerA.hasBotToken, true);
});

test('null removes the bot token, alone or with its channel', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent({ channels: { messengerA: { botToken: TOKEN, greeting: 'hi' }, other: { a: 1 } } });
  t.deepEqual((await write(ada, id, { botToken: null })).channels, { messengerA: { greeting: 'hi' }, other: { a: 1 } });
  await write(ada, id, { botToken: TOKEN });
  t.deepEqual((await write(ada, id, null)).channels, { other: { a: 1 } });
  const { sealedBotToken } = await stack().db('agents').where({ id }).first();
  t.is(sealedBotToken, null);
});

test('a change of something else keeps the bot token', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent({ channels: { messengerA: { botToken: TOKEN } } });
  await ada.call('agents.update', { id }, { body: { name: 'other', channels: { messengerB: { x: 1 } } } });
  t.deepEqual((await write(ada, id, { greeting: 'hi' })).channels, {
    messengerA: { greeting: 'hi', hasBotToken: true },
    messengerB: { x: 1 },
  });
});

test('keys that the service owns are ignored: what was read can be sent back', async (t) => {
  const ada = await stack().user();
  const owned = { connected: true, connectedAt: '2026-01-01T00:00:00.000Z', hasBotToken: true };
  const { id, channels } = await ada.anAgent({
    channels: { messengerA: { ...owned, greeting: 'hi' }, messengerB: owned },
  });
  t.deepEqual(channels, { messengerA: { greeting: 'hi' }, messengerB: {} });
  t.deepEqual((await write(ada, id, { ...owned, botToken: TOKEN })).channels.messengerA, {
    greeting: 'hi',
    hasBotToken: true,
  });
  const read = await ada.agent(id);
  const echoed = await ada.call('agents.update', { id }, { body: { channels: read.channels } });
  t.deepEqual(echoed.body.channels, read.channels);
  t.deepEqual((await write(ada, id, { hasBotToken: false, connected: null })).channels, read.channels);
});

test('a bot token is a string of decent length', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  for (const botToken of ['', 7, true, {}, [], 'x'.repeat(257)]) {
    const body = { channels: { messengerA: { botToken } } };
    for (const reply of [
      await ada.call('agents.update', { id }, { body }),
      await ada.call('agents.create', {}, { body: { name: 'x', ...body } }),
    ]) {
      isProblem(t, reply, 'invalid_request', JSON.stringify(botToken));
      t.is(reply.body.errors[0].pointer, '/channels/messengerA/botToken');
    }
  }
});
