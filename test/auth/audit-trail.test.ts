import test from 'ava';
import type { ACaller, Reply } from '../support/a-caller.js';
import { aNamedToken, approve, poll, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

interface Event {
  id: string;
  action: string;
  subject: { id: string };
}
const eventsOf = async (by: ACaller, query: Record<string, string | number> = {}): Promise<Event[]> =>
  (await by.call('audit.list', {}, { query })).body.events;
const idOf = async (by: ACaller): Promise<string> => (await by.call('users.me')).body.id;

test('what was refused, or changed nothing, is not told', async (t) => {
  const ada = await stack().user();
  const { sessionId } = await aNamedToken(stack(), ada);
  await ada.call('auth.sessions.revoke', { id: sessionId });
  const before = await eventsOf(ada);
  await ada.call('auth.sessions.revoke', { id: sessionId });
  await ada.call('auth.device.approve', {}, { body: { userCode: 'BCDF-GHJK' } });
  await ada.call('auth.tokens.create', {}, { body: {} });
  const { id } = await ada.anAgent();
  isProblem(t, await ada.call('agents.gateway-access', { id }), 'agent_not_provisioned');
  t.deepEqual(await eventsOf(ada), before);
});

test('when the change fails there is no event, and without the event no change', async (t) => {
  const { db } = stack();
  const eve = await stack().user(`unaudited`);
  const login = await startLogin(stack().nobody());
  const userId = await idOf(eve);
  await db.raw(`alter table audit_events add constraint no_eve check (user_id <> '${userId}')`);
  t.teardown(() => db.raw('alter table audit_events drop constraint if exists no_eve'));
  isProblem(t, await approve(eve, login), 'internal');
  isProblem(
    t,
    await eve.call('auth.tokens.create', {}, { body: { name: 'x', scopes: ['read'], expiresInDays: 1 } }),
    'internal',
  );
  t.is((await poll(stack().nobody(), login)).body.status, 'authorization_pending');
  t.deepEqual(await db('token_families').where({ userId }), []);
});

test('a user sees what concerns them, an operator everything', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const olivia = await stack().user(undefined, { role: 'operator' });
  const [hers, theirs] = [await aNamedToken(stack(), ada), await aNamedToken(stack(), eve)];
  t.deepEqual(
    (await eventsOf(ada)).map(({ subject }) => subject.id),
    [hers.sessionId],
  );
  t.deepEqual(await eventsOf(ada, { subject: theirs.sessionId }), []);
  const all = (await eventsOf(olivia, { limit: 100 })).map(({ subject }) => subject.id);
  t.true(all.includes(hers.sessionId) && all.includes(theirs.sessionId));
  isProblem(t, await (await aNamedToken(stack(), ada, ['read', 'agents'])).caller.call('audit.list'), 'scope_required');
  const { caller } = await aNamedToken(stack(), olivia);
  t.false(
    (await eventsOf(caller, { limit: 100 })).some(({ subject }) => subject.id === hers.sessionId),
    "a session of an operator's is no operator",
  );
});

test('the trail is filtered by subject and action, and read page by page', async (t) => {
  const ada = await stack().user();
  const made = [];
  for (let n = 0; n < 5; n++) made.push((await aNamedToken(stack(), ada)).sessionId);
  await ada.call('auth.sessions.revoke', { id: made[0] ?? '' });
  t.deepEqual(
    (await eventsOf(ada, { subject: made[0] ?? '' })).map(({ action }) => action),
    ['session.revoked', 'session.opened'],
  );
  t.is((await eventsOf(ada, { action: 'session.opened' })).length, 5);
  const paged: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body }: Reply = await ada.call(
      'audit.list',
      {},
      { query: { limit: 2, ...(cursor === '' ? {} : { cursor }) } },
    );
    t.true(body.events.length <= 2);
    paged.push(...body.events.map(({ id }: Event) => id));
    cursor = body.nextCursor;
  }
  t.deepEqual(
    paged,
    (await eventsOf(ada)).map(({ id }) => id),
  );
  t.is(paged.length, 6);
  t.deepEqual(paged, paged.toSorted().toReversed());
});

test('the database refuses to alter the trail', async (t) => {
  const { db } = stack();
  await aNamedToken(stack(), await stack().user());
  const before = await db('audit_events').orderBy('id');
  for (const attempt of [
    `update audit_events set action = 'nothing'`,
    `update audit_events set action = 'nothing' where false`,
    'delete from audit_events',
    'truncate audit_events',
    'truncate audit_events cascade',
  ])
    await t.throwsAsync(Promise.resolve(db.raw(attempt)), { message: /append-only/ }, attempt);
  t.true((await db('audit_events').orderBy('id')).length >= before.length);
});

test('the trail is in the order of the database clock, whatever the clocks of the processes say', async (t) => {
  const ada = await stack().user();
  const userId = await idOf(ada);
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
  const ids = [3, 1, 4, 2].map((n) => `aud_0000000000000000000000000${n}`); // made by clocks that disagree
  await stack()
    .db('audit_events')
    .insert(
      ids.map((id, minute) => ({
        id: `${id.slice(0, 20)}${userId.slice(-9)}${id.slice(-1)}`,
        at: at(minute),
        userId,
        actorType: 'user',
        actorId: userId,
        action: `minute-${minute}`,
        subjectType: 'user',
        subjectId: userId,
      })),
    );
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query: Record<string, string | number> = { limit: 1, subject: userId, ...(cursor === '' ? {} : { cursor }) };
    const { body }: Reply = await ada.call('audit.list', {}, { query });
    seen.push(...body.events.map(({ action }: Event) => action));
    cursor = body.nextCursor;
  }
  t.deepEqual(seen, ['minute-3', 'minute-2', 'minute-1', 'minute-0']);
});
