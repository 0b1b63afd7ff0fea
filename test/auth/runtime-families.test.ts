import test from 'ava';
import { ACaller, type Reply } from '../support/a-caller.js';
import { endJob } from '../support/a-job.js';
import { isProblem } from '../support/a-problem.js';
import { aBootstrap, exchange } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';
import { refresh, signIn } from '../support/a-device-login.js';

const stack = withStack(test, { workers: false });

const status = (token: string): Promise<Reply> => new ACaller(stack().url, token).call('runtime.auth.status');
const renew = (refreshToken: string): Promise<Reply> =>
  stack().nobody().call('runtime.auth.refresh', {}, { body: { refreshToken } });

const aSession = async () => {
  const ada = await stack().user();
  const { id: agentId } = await ada.anAgent();
  const { body } = await exchange(stack(), await aBootstrap(stack(), agentId));
  return { ada, agentId, first: body as Record<string, string> & { refreshToken: string; accessToken: string } };
};
const age = (runtimeId: string | undefined, interval: string) =>
  stack()
    .db('token_families')
    .update({ rotatedAt: stack().db.raw('now() - ?::interval', [interval]) })
    .where({ runtimeId });

test('a machine that died before it saved gets the same successor for an hour', async (t) => {
  const { first } = await aSession();
  const { status: answered, body: second } = await renew(first.refreshToken);
  t.is(answered, 200);
  t.like(second, {
    runtimeId: first['runtimeId'],
    agentId: first['agentId'],
    userId: first['userId'],
    tokenType: 'Bearer',
  });
  await age(first['runtimeId'], '59 minutes');
  t.deepEqual((await renew(first.refreshToken)).body, second, 'after 59 minutes');
  t.is((await status(second.accessToken)).status, 200);
  isProblem(t, await renew(first.refreshToken), 'token_reused', 'not once it was used');
  isProblem(t, await status(second.accessToken), 'unauthenticated');

  const late = (await aSession()).first;
  await renew(late.refreshToken);
  await age(late['runtimeId'], '61 minutes');
  isProblem(t, await renew(late.refreshToken), 'token_reused', 'after 61 minutes');
});

test('forty refreshes at once are one rotation', async (t) => {
  const { first } = await aSession();
  const replies = await Promise.all(Array.from({ length: 40 }, () => renew(first.refreshToken)));
  t.deepEqual([...new Set(replies.map((reply) => reply.status))], [200]);
  t.is(new Set(replies.map(({ body }) => JSON.stringify(body))).size, 1);
  t.is((await stack().db('token_families').where({ runtimeId: first['runtimeId'] }).first()).generation, 2);
});

test('a machine whose family is dead comes back by a restart', async (t) => {
  const { agentId, first } = await aSession();
  const { body: second } = await renew(first.refreshToken);
  await status(second.accessToken);
  await renew(first.refreshToken); // reuse
  isProblem(t, await status(second.accessToken), 'unauthenticated');
  const { status: answered, body: anew } = await exchange(stack(), await aBootstrap(stack(), agentId));
  t.is(answered, 200);
  t.is((await status(anew.accessToken)).status, 200);
  isProblem(t, await renew(second.refreshToken), 'token_reused', 'the dead family stays dead');
  t.is((await status(anew.accessToken)).status, 200, 'and takes nobody with it');
});

test('a newer bootstrap token replaces the family, the tokens of before are dead', async (t) => {
  const { agentId, first } = await aSession();
  await status(first.accessToken);
  const { body: anew } = await exchange(stack(), await aBootstrap(stack(), agentId));
  isProblem(t, await status(first.accessToken), 'unauthenticated');
  isProblem(t, await renew(first.refreshToken), 'unauthenticated');
  t.is((await renew(anew.refreshToken)).status, 200);
});

test('a revoked family is dead at once, and revoking again is harmless', async (t) => {
  const { first } = await aSession();
  const revoke = (refreshToken: string) => stack().nobody().call('runtime.auth.revoke', {}, { body: { refreshToken } });
  for (let times = 0; times < 3; times++) t.deepEqual((await revoke(first.refreshToken)).body, { ok: true });
  t.deepEqual((await revoke('garbage')).body, { ok: true });
  isProblem(t, await status(first.accessToken), 'unauthenticated');
  isProblem(t, await renew(first.refreshToken), 'unauthenticated');
});

test('the runtime of an agent that is gone cannot refresh', async (t) => {
  const { ada, agentId, first } = await aSession();
  const { body } = await ada.call('agents.delete', { id: agentId });
  await endJob(stack(), body.job, { status: 'succeeded' });
  isProblem(t, await renew(first.refreshToken), 'unauthenticated');
  isProblem(t, await status(first.accessToken), 'unauthenticated');
  const family = await stack().db('token_families').where({ runtimeId: first['runtimeId'] }).first();
  t.like(family, { generation: 1, revokeReason: 'deleted' });
});

test("a runtime's tokens are no user's, nor the other way round", async (t) => {
  const { ada, first } = await aSession();
  const person = await signIn(stack(), ada);
  isProblem(t, await refresh(stack().nobody(), first.refreshToken), 'unauthenticated');
  isProblem(t, await renew(person.refreshToken), 'unauthenticated');
  await stack()
    .nobody()
    .call('auth.logout', {}, { body: { refreshToken: first.refreshToken } });
  await stack()
    .nobody()
    .call('runtime.auth.revoke', {}, { body: { refreshToken: person.refreshToken } });
  t.is((await status(first.accessToken)).status, 200);
  t.is((await person.device.call('users.me')).status, 200);
});

test('a runtime lives 30 days without a refresh and 90 days in all', async (t) => {
  const { first } = await aSession();
  const family = await stack().db('token_families').where({ runtimeId: first['runtimeId'] }).first();
  const days = (at: Date) => (at.getTime() - Date.now()) / 86_400_000;
  t.true(Math.abs(days(family.refreshExpiresAt) - 30) < 0.1);
  t.true(Math.abs(days(family.expiresAt) - 90) < 0.1);
});
