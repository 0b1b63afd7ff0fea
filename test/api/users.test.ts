import test from 'ava';
import { ACaller } from '../support/a-caller.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

test('first sight of a person creates the user, also when twenty requests are the first at once (2.2)', async (t) => {
  const zoe = await stack().user('zoe');
  const replies = await Promise.all(Array.from({ length: 20 }, () => zoe.call('users.me')));
  t.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([200]));
  t.is(new Set(replies.map((reply) => reply.body.id)).size, 1);
  t.is((await stack().db('users').where({ subject: 'zoe' })).length, 1);
  t.like(replies[0]?.body, { email: 'zoe@example.com', name: 'zoe', plan: 'free', role: 'user' });
});

test('a person is the same user with every token, and nobody else is', async (t) => {
  const [once, again, other] = [
    await stack().user('yan'),
    await stack().user('yan', { name: 'Yan' }),
    await stack().user('xia'),
  ];
  const { body } = await once.call('users.me');
  t.deepEqual((await again.call('users.me')).body, body, 'later sights change nothing');
  t.not((await other.call('users.me')).body.id, body.id);
});

test('name and email are changed by their owner alone, and kept when the identity provider says otherwise', async (t) => {
  const ada = await stack().user('ada');
  const before = (await ada.call('users.me')).body;
  t.deepEqual((await ada.call('users.update', {}, { body: {} })).body, before, 'nothing sent, nothing changed');
  const { status, body } = await ada.call('users.update', {}, { body: { name: 'Ada Lovelace' } });
  t.is(status, 200);
  t.like(body, { id: before.id, name: 'Ada Lovelace', email: before.email, createdAt: before.createdAt });
  t.true(body.updatedAt > before.updatedAt);
  await ada.call('users.update', {}, { body: { email: 'ada@lovelace.example' } });
  const later = await stack().user('ada', { name: 'A. L.', email: 'elsewhere@example.com' });
  t.like((await later.call('users.me')).body, { name: 'Ada Lovelace', email: 'ada@lovelace.example' });
});

test('a change of the profile is in the audit trail, and what changes nothing is not', async (t) => {
  const ada = await stack().user();
  await ada.call('users.update', {}, { body: { email: 'new@example.com' } });
  await ada.call('users.update', {}, { body: { email: 'new@example.com' } });
  const { events } = (await ada.call('audit.list', {}, { query: { action: 'user.updated' } })).body;
  t.is(events.length, 1);
  t.is(events[0].after.email, 'new@example.com');
  t.not(events[0].before.email, 'new@example.com');
});

test('a profile takes no more than a name and an email, and those of a decent form', async (t) => {
  const ada = await stack().user('ben');
  const before = (await ada.call('users.me')).body;
  const refused: Record<string, unknown>[] = [
    { name: '' },
    { name: ' \t ' },
    { name: 'x'.repeat(201) },
    { name: 'bell\u0007' },
    { name: null },
    { email: 'nobody' },
    { email: '' },
    { email: `${'x'.repeat(320)}@example.com` },
    { email: 'a@b.example\r\nBcc: c@d.example' },
    { role: 'operator' },
    { plan: 'team' },
    { id: 'usr_01jd0000000000000000000000' },
    { name: 'fine', createdAt: '2020-01-01T00:00:00.000Z' },
  ];
  for (const body of refused)
    isProblem(t, await ada.call('users.update', {}, { body }), 'invalid_request', JSON.stringify(body).slice(0, 80));
  t.deepEqual((await ada.call('users.me')).body, before);
});

test('only the claim of the setting makes an operator', async (t) => {
  const roleOf = async (name: string, claims: Record<string, unknown>) =>
    (await (await stack().user(name, claims)).call('users.me')).body.role as string;
  t.is(await roleOf('olivia', { role: 'operator' }), 'operator');
  t.is(await roleOf('oscar', { role: ['viewer', 'operator'] }), 'operator');
  const others: Record<string, unknown>[] = [
    {},
    { role: 'Operator' },
    { role: 'operators' },
    { role: { operator: true } },
    { role: true },
    { roles: ['operator'] },
    { email: 'olivia@example.com' },
    { email: 'operator@example.com', name: 'operator' },
  ];
  for (const [index, claims] of others.entries())
    t.is(await roleOf(`olga${index}`, claims), 'user', JSON.stringify(claims));
  t.is(await roleOf('olivia', {}), 'user', 'the role is the token’s, not kept');
});

test('a scheme is a scheme in any spelling', async (t) => {
  const { token = '' } = await stack().user('ada');
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'Bearer  ']) {
    const nobody = new ACaller(stack().url, undefined);
    const reply = await nobody.call('users.me', {}, { headers: { authorization: `${scheme} ${token}` } });
    t.is(reply.status, 200, scheme);
  }
});
