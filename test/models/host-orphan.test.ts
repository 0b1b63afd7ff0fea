import test from 'ava';
import { makeDb } from '../../src/db/knex.js';
import { claimsOn } from '../../src/models/host-orphan.js';
import { newId } from '../../src/models/new-id.js';
import { aDatabase } from '../support/a-database.js';

const AGENTS = 5_000;

test('who claims an orphan is found by indexes, by each of the names it has', async (t) => {
  const database = await aDatabase();
  const db = makeDb({ url: database.url, max: 2, name: 'acp-test' });
  t.teardown(async () => {
    await db.destroy();
    await database.drop();
  });
  const userId = newId('user');
  await db('users').insert({ id: userId, issuer: 'i', subject: 's', email: '', name: '' });
  const ids = Array.from({ length: AGENTS }, () => newId('agent'));
  const rows = ids.map((id, i) => ({
    id,
    userId,
    name: 'x',
    plan: 'free',
    hostName: `name-${i}`,
    hostAppName: `app-${i}`,
    hostMachineId: `m${i}`,
  }));
  for (let done = 0; done < AGENTS; done += 1_000) await db('agents').insert(rows.slice(done, done + 1_000));
  await db.raw('analyze agents');

  const none = { appName: 'none', agentId: null, machineIds: [], volumeIds: [] };
  t.false((await claimsOn(db, none)).isClaimed);
  t.true((await claimsOn(db, { ...none, appName: 'name-7' })).isClaimed);
  t.true((await claimsOn(db, { ...none, appName: 'app-7' })).isClaimed);
  t.true((await claimsOn(db, { ...none, machineIds: ['other', 'm7'] })).isClaimed);
  const named = await claimsOn(db, { ...none, agentId: ids[7] ?? '', appName: 'app-7', machineIds: ['m7'] });
  t.is(named.agent?.id, ids[7], 'and named in several ways it is one');

  const queries: { sql: string; bindings: readonly unknown[] }[] = [];
  const note = (query: { sql: string; bindings: readonly unknown[] }) => queries.push(query);
  db.on('query', note);
  await claimsOn(db, { ...none, agentId: newId('agent'), appName: 'a', machineIds: ['m1', 'm2'] });
  db.off('query', note);
  const query = queries.find(({ sql }) => sql.includes('"agents"'));
  const { rows: plan } = await db.raw<{ rows: object[] }>(`explain ${query?.sql.replaceAll(/\$\d+/g, '?') ?? ''}`, [
    ...(query?.bindings ?? []),
  ] as string[]);
  const lines = plan.map((line) => Object.values(line).join(''));
  t.log(lines.filter((line) => line.includes('Scan')).join('\n'));
  t.false(
    lines.some((line) => line.includes('Seq Scan')),
    lines.join('\n'),
  );
  t.true(
    lines.some((line) => line.includes('agents_of_machine')),
    lines.join('\n'),
  );
});
