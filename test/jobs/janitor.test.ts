import test from 'ava';
import { Janitor } from '../../src/jobs/janitor.js';
import { newId } from '../../src/models/new-id.js';
import { makeLog } from '../../src/telemetry/log.js';
import { aNamedToken, approve, poll, signIn, startLogin } from '../support/a-device-login.js';
import { aBootstrap, exchange } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const tables = [
  'idempotency_keys',
  'guesses',
  'device_logins',
  'bootstrap_tokens',
  'spent_refresh_tokens',
  'token_families',
  'gateway_tokens',
  'audit_events',
];
const counts = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(tables.map(async (table) => [table, (await stack().db(table)).length] as const)),
  );
const aJanitor = (): Janitor => new Janitor(stack().db, makeLog('test', 'silent'));

/** One of everything that goes one day. */
const live = async () => {
  const ada = await stack().user();
  const agent = await ada.anAgent();
  await ada.call('agents.create', {}, { body: { name: 'x' }, headers: { 'idempotency-key': 'k' } });
  await ada.call('auth.device.approve', {}, { body: { userCode: 'BCDF-GHJK' } });
  const { refreshToken } = await signIn(stack(), ada);
  await stack().nobody().call('auth.refresh', {}, { body: { refreshToken } });
  await startLogin(stack().nobody());
  await aNamedToken(stack(), ada);
  await exchange(stack(), await aBootstrap(stack(), agent.id));
  await aBootstrap(stack(), agent.id);
  return ada;
};

/** Lets time pass: moves every date of these tables back. */
const later = async (interval: string): Promise<void> => {
  const { db } = stack();
  const { rows } = await db.raw<{ rows: { table: string; column: string }[] }>(
    `select table_name as "table", column_name as "column" from information_schema.columns
      where table_schema = 'public' and data_type = 'timestamp with time zone' and table_name = any(?)`,
    [tables.filter((table) => table !== 'audit_events')],
  );
  for (const { table, column } of rows)
    await db.raw('update ?? set ?? = ?? - ?::interval', [table, column, column, interval]);
};

test.serial('nothing that still counts is swept away', async (t) => {
  await live();
  const before = await counts();
  t.is(await aJanitor().pass(), 0);
  t.deepEqual(await counts(), before);
  for (const table of tables.filter((name) => name !== 'gateway_tokens')) t.true((before[table] ?? 0) > 0, table);
});

test.serial('what has expired goes, step by step, and the audit trail stays', async (t) => {
  const before = await counts();
  const gone: string[] = [];
  for (const interval of ['20 minutes', '2 days', '200 days', '100 days']) {
    await later(interval);
    const rows = [await aJanitor().pass(), await aJanitor().pass()];
    gone.push(`${interval} later ${rows.join(' + ')}`);
    t.is(await aJanitor().pass(), 0, `${interval}: nothing is left over`);
  }
  const after = await counts();
  t.log(`rows swept: ${gone.join('; ')}`);
  t.like(after, {
    idempotency_keys: 0,
    guesses: 0,
    device_logins: 0,
    bootstrap_tokens: 0,
    token_families: 0,
    spent_refresh_tokens: 0,
  });
  t.is(after['audit_events'], before['audit_events']);
});

test.serial('the job of a command goes 90 days after its end, that of a log after a day, others never', async (t) => {
  const { db } = stack();
  const ada = await stack().user();
  const { id: agentId } = await ada.anAgent();
  await ada.call('agents.provision', { id: agentId });
  const template = await db('jobs').where({ agentId }).first();
  const aged = async (kind: string, days: number | null): Promise<string> => {
    const id = newId('job');
    const finishedAt = days === null ? null : db.raw('now() - make_interval(days => ?)', [days]);
    const status = days === null ? 'running' : 'succeeded';
    const json = { steps: '[]', params: '{}' };
    const createdAt = db.raw(`now() - interval '100 days'`);
    await db('jobs').insert({ ...template, ...json, id, kind, status, finishedAt, createdAt, lockKey: null });
    return id;
  };
  const gone = [await aged('agent.command', 91), await aged('agent.logs', 2)];
  const kept = [
    await aged('agent.command', 89),
    await aged('agent.command', null),
    await aged('agent.logs', 0),
    await aged('agent.start', 400),
  ];
  t.is(await aJanitor().pass(), 2);
  const left: { id: string }[] = await db('jobs').whereIn('id', [...gone, ...kept]);
  t.deepEqual(left.map(({ id }) => id).toSorted(), kept.toSorted());
});

test.serial('several janitors at once do no harm, and thousands of rows go in bites', async (t) => {
  const { db } = stack();
  const rows = Array.from({ length: 2_500 }, (_, n) => ({ subject: `s${n}`, triedAt: [], endsAt: '2020-01-01' }));
  await db.batchInsert('guesses', rows, 1_000);
  const swept = await Promise.all([aJanitor(), aJanitor(), aJanitor()].map((janitor) => janitor.pass()));
  const rest = (await db('guesses')).length;
  t.is(swept.reduce((sum, one) => sum + one, 0) + rest, 2_500);
  t.log(`swept by three at once: ${swept.join()}`);
  while ((await aJanitor().pass()) > 0);
  t.is((await db('guesses')).length, 0);
});

test.serial('a login whose pair is still told is not swept', async (t) => {
  const ada = await stack().user();
  const login = await startLogin(stack().nobody());
  await approve(ada, login);
  const { body } = await poll(stack().nobody(), login);
  await aJanitor().pass();
  t.deepEqual((await poll(stack().nobody(), login)).body, body);
});

test.serial('a janitor that cannot reach its tables says so and goes on', async (t) => {
  await stack().db.raw('alter table guesses rename to gone');
  t.is(
    await aJanitor()
      .pass()
      .then((swept) => typeof swept),
    'number',
  );
  await stack().db.raw('alter table gone rename to guesses');
  t.is(await aJanitor().pass(), 0);
});
