import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { holdOpener } from '../../src/models/family-tree.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { openFamily } from '../../src/models/token-family.js';
import { ACaller } from '../support/a-caller.js';
import { approve, poll, refresh, signIn, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

const stack = withStack(test, { workers: false });

const aTokenOf = async (by: ACaller): Promise<{ caller: ACaller; id: string }> => {
  const { body } = await by.call('auth.tokens.create', {}, { body: { name: 'x', scopes: ['*'], expiresInDays: 366 } });
  return { caller: new ACaller(stack().url, body.token), id: body.session.id };
};
const currentId = async (by: ACaller): Promise<string> =>
  (await by.call('auth.sessions.list')).body.sessions.find((one: { current: boolean }) => one.current).id;
/** So many wait for a row that somebody else holds. */
const untilBlocked = (count: number): Promise<unknown> =>
  until('they wait', async () => {
    const { rows } = await stack().db.raw<{ rows: { waiting: number }[] }>(
      `select count(*)::int as waiting from pg_stat_activity
        where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
    );
    return (rows[0]?.waiting ?? 0) >= count;
  });
const opens = async (who: ACaller): Promise<boolean> => (await who.call('users.me')).status === 200;

test('what a session let in ends with it when it is revoked, and what that let in too', async (t) => {
  const ada = await stack().user();
  const stolen = (await signIn(stack(), ada)).device;
  const other = (await signIn(stack(), ada)).device;
  const named = await aTokenOf(stolen);
  const device = (await signIn(stack(), stolen)).device;
  const grandchild = await aTokenOf(device);
  const untouched = await aTokenOf(other);
  const dead = [stolen, named.caller, device, grandchild.caller];
  for (const who of [...dead, other, untouched.caller]) t.true(await opens(who));

  const revoked = await ada.call('auth.sessions.revoke', { id: await currentId(stolen) });
  for (const who of dead) isProblem(t, await who.call('users.me'), 'unauthenticated');
  for (const who of [other, untouched.caller]) t.true(await opens(who), 'nothing else ends');
  const { events } = (await ada.call('audit.list', {}, { query: { action: 'session.revoked' } })).body;
  const requestId = revoked.headers.get('x-request-id');
  t.is(events.filter((event: { requestId: string }) => event.requestId === requestId).length, 4, 'one event each');
});

test('who logs out keeps the named tokens they made', async (t) => {
  const ada = await stack().user();
  const { device, refreshToken } = await signIn(stack(), ada);
  const { caller } = await aTokenOf(device);
  await stack().nobody().call('auth.logout', {}, { body: { refreshToken } });
  t.false(await opens(device));
  t.true(await opens(caller));
});

test('a refresh token used twice ends also what its session let in', async (t) => {
  const ada = await stack().user();
  const { device, refreshToken } = await signIn(stack(), ada);
  const { caller } = await aTokenOf(device);
  const { body } = await refresh(stack().nobody(), refreshToken);
  t.true(await opens(new ACaller(stack().url, body.accessToken)));
  isProblem(t, await refresh(stack().nobody(), refreshToken), 'token_reused');
  t.false(await opens(caller));
});

test('a thief who logs out before the owner comes back leaves nothing behind', async (t) => {
  const ada = await stack().user();
  const { refreshToken } = await signIn(stack(), ada);
  const { body: stolen } = await refresh(stack().nobody(), refreshToken);
  const thief = new ACaller(stack().url, stolen.accessToken);
  const { caller } = await aTokenOf(thief);
  await stack()
    .nobody()
    .call('auth.logout', {}, { body: { refreshToken: stolen.refreshToken } });
  t.true(await opens(caller));
  isProblem(t, await refresh(stack().nobody(), refreshToken), 'token_reused', 'the owner, with what was theirs');
  t.false(await opens(caller));
  const { events } = (await ada.call('audit.list', {}, { query: { action: 'session.ended_by_reuse' } })).body;
  t.is(events.length, 1, 'of the token; its session had ended');
  isProblem(t, await refresh(stack().nobody(), refreshToken), 'unauthenticated', 'and once is enough');
});

test('a session that was let in while its opener was logged out and revoked at once does not live on', async (t) => {
  const ada = await stack().user();
  const { device, refreshToken } = await signIn(stack(), ada);
  const id = await currentId(device);
  const opening = await stack().db.transaction();
  t.true(await holdOpener(opening, id));
  const { userId } = await stack().db('token_families').where({ id }).first();
  const out = stack().nobody().call('auth.logout', {}, { body: { refreshToken } });
  await untilBlocked(1);
  const revoking = ada.call('auth.sessions.revoke', { id });
  await untilBlocked(2);
  const keys = new KeyRing(stack().env['ENCRYPTION_KEYS'] ?? '');
  const facts = { kind: 'token', userId, name: 'x', scopes: ['*'], openedBy: id, lastsFor: '1 day' } as const;
  const { accessToken } = await openFamily(opening, keys, { ...facts, scopes: [...facts.scopes] });
  await opening.commit();
  t.deepEqual([(await out).status, (await revoking).status], [200, 200]);
  t.false(await opens(new ACaller(stack().url, accessToken)));
});

test('a device approved by a session that was revoked before the device came back is not let in', async (t) => {
  const ada = await stack().user();
  const approver = (await signIn(stack(), ada)).device;
  const login = await startLogin(stack().nobody());
  t.is((await approve(approver, login)).status, 200);
  await ada.call('auth.sessions.revoke', { id: await currentId(approver) });
  t.deepEqual((await poll(stack().nobody(), login)).body, { status: 'access_denied' });
});

test('tokens made at the moment of the revocation do not outlive it', async (t) => {
  const ada = await stack().user();
  const outcomes: number[] = [];
  for (let round = 0; round < 12; round++) {
    const thief = (await signIn(stack(), ada)).device;
    const id = await currentId(thief);
    const body = { name: 'x', scopes: ['*'], expiresInDays: 366 };
    const [made] = await Promise.all([
      Promise.all(Array.from({ length: 4 }, () => thief.call('auth.tokens.create', {}, { body }))),
      sleep(round * 3).then(() => ada.call('auth.sessions.revoke', { id })),
    ]);
    for (const { status, body: answer } of made) {
      outcomes.push(status);
      if (status === 201) t.false(await opens(new ACaller(stack().url, answer.token)));
    }
  }
  t.true(outcomes.includes(201));
  t.log(`12 rounds × 4: ${outcomes.filter((status) => status === 201).length} were made, none lived on`);
});
