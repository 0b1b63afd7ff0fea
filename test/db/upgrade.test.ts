import { randomBytes } from 'node:crypto';
import test from 'ava';
import { makeDb } from '../../src/db/knex.js';
import { migrations } from '../../src/db/migrations/index.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { derivedToken, hashToken } from '../../src/models/opaque-token.js';
import { refreshFamily } from '../../src/models/refresh-family.js';
import { exchangeBootstrapToken } from '../../src/models/runtime-session.js';
import { useAccessToken } from '../../src/models/use-access-token.js';
import { anEmptyDatabase } from '../support/a-database.js';

test('the machines of an installation of 0001 keep their sessions', async (t) => {
  const database = await anEmptyDatabase();
  const db = makeDb({ url: database.url, max: 2, name: 'acp-test' });
  t.teardown(async () => {
    await db.destroy();
    await database.drop();
  });
  await migrations[0]?.up(db);
  const keys = new KeyRing(`k1:${randomBytes(32).toString('base64')}`);
  const token = (kind: 'runtimeAccess' | 'runtimeRefresh', family: string) => derivedToken(keys, 'k1', kind, family, 1);
  const [runtimeId, agentId] = ['rt_01jd0000000000000000000000', 'agt_01jd0000000000000000000000'];
  const bootstrapToken = `acp_boot_${'0'.repeat(49)}`;
  await db('users').insert({ id: 'usr_x', issuer: 'i', subject: 's', email: '', name: '' });
  await db('agents').insert({ id: agentId, userId: 'usr_x', name: 'a', plan: 'free', hostName: 'acp-a' });
  await db('runtime_identities').insert({
    id: runtimeId,
    agentId,
    generation: 1,
    status: 'active',
    runtimeReleaseVersion: '1.0.0',
  });
  for (const [id, revokedAt] of [
    ['ses_alive', null],
    ['ses_dead', new Date()],
  ] as const)
    await db('runtime_sessions').insert({
      id,
      runtimeId,
      keyId: 'k1',
      accessHash: hashToken(token('runtimeAccess', id)),
      accessExpiresAt: db.raw(`now() + interval '1 hour'`),
      refreshHash: hashToken(token('runtimeRefresh', id)),
      refreshExpiresAt: db.raw(`now() + interval '30 days'`),
      revokedAt,
    });
  const bootstrap = { hash: hashToken(bootstrapToken), runtimeId, sessionId: 'ses_alive' };
  await db('bootstrap_tokens').insert({ ...bootstrap, expiresAt: db.raw(`now() + interval '15 minutes'`) });

  for (const migration of migrations.slice(1)) await migration.up(db);
  t.like(await useAccessToken(db, token('runtimeAccess', 'ses_alive')), {
    kind: 'runtime',
    runtimeId,
    userId: 'usr_x',
    isLive: true,
  });
  t.is(await useAccessToken(db, token('runtimeAccess', 'ses_dead')), undefined);
  const renewed = await db.transaction((trx) =>
    refreshFamily(trx, keys, token('runtimeRefresh', 'ses_alive'), ['runtime']),
  );
  t.like(renewed, { family: { id: 'ses_alive', generation: 2 } });
  const again = await db.transaction((trx) =>
    exchangeBootstrapToken(trx, keys, { runtimeId, bootstrapToken, runtimeVersion: '1.0.0' }),
  );
  t.is(again, undefined, 'its bootstrap token stays spent');
});
