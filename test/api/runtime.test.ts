import test from 'ava';
import { RuntimeAuthStatus, RuntimeSession } from '../../src/contract/shapes/runtime.js';
import { hashToken, isToken, randomToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { endJob } from '../support/a-job.js';
import { isProblem } from '../support/a-problem.js';
import { aBootstrap, aRuntime, exchange } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const withToken = (token: string): ACaller => new ACaller(stack().url, token);
const authStatus = (reply: Reply): Promise<Reply> =>
  withToken(reply.body.accessToken as string).call('runtime.auth.status');
const anAgentId = async (): Promise<string> => (await (await stack().user()).anAgent()).id;

test('a bootstrap token is traded for a runtime session (2.3)', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anAgent();
  const bootstrap = await aBootstrap(stack(), agent.id);
  const { status, body, headers } = await exchange(stack(), bootstrap, { runtimeVersion: '1.4.0-rc.1' });
  t.is(status, 200, JSON.stringify(body));
  t.is(headers.get('cache-control'), 'no-store');
  t.true(RuntimeSession.safeParse(body).success);
  t.like(body, { tokenType: 'Bearer', runtimeId: bootstrap.runtimeId, agentId: agent.id, userId: agent.userId });
  t.is(body.runtimeVersion, '1.4.0-rc.1');
  t.true(isToken('runtimeAccess', body.accessToken));
  t.true(isToken('runtimeRefresh', body.refreshToken));
  const hours = (at: string) => (Date.parse(at) - Date.now()) / 3_600_000;
  t.true(Math.abs(hours(body.accessTokenExpiresAt) - 1) < 0.1);
  t.true(Math.abs(hours(body.refreshTokenExpiresAt) - 30 * 24) < 0.1);
  t.is((await ada.agent(agent.id)).runtimeVersion, '1.4.0-rc.1');
});

test('the session says who it is and how long it lives', async (t) => {
  const agentId = await anAgentId();
  const bootstrap = await aBootstrap(stack(), agentId);
  const before = await stack().db('runtime_identities').where({ id: bootstrap.runtimeId }).first();
  t.is(before.status, 'pending');
  const session = await exchange(stack(), bootstrap);
  const { status, body } = await authStatus(session);
  t.is(status, 200);
  t.true(RuntimeAuthStatus.safeParse(body).success);
  t.like(body, { ok: true, agentId, userId: session.body.userId });
  t.like(body.runtime, { id: bootstrap.runtimeId, status: 'active', isActive: true, runtimeReleaseVersion: '1.0.0' });
  const { accessTokenExpiresAt, refreshTokenExpiresAt } = session.body;
  t.deepEqual(body.session, { accessTokenExpiresAt, refreshTokenExpiresAt });
});

/** All that two refusals may differ in is what names the request. */
const anonymous = ({ status, headers, body }: Reply) => ({
  status,
  challenge: headers.get('www-authenticate'),
  body: { ...body, requestId: '' },
});

test('every token that is no good gets the same answer', async (t) => {
  const [agentId, otherId] = [await anAgentId(), await anAgentId()];
  const good = await aBootstrap(stack(), agentId);
  const other = await aBootstrap(stack(), otherId);
  const expired = await aBootstrap(stack(), await anAgentId());
  await stack()
    .db('bootstrap_tokens')
    .update({ expiresAt: stack().db.raw(`now() - interval '1 millisecond'`) })
    .where({ hash: hashToken(expired.bootstrapToken) });
  const spent = await aBootstrap(stack(), await anAgentId());
  await authStatus(await exchange(stack(), spent));
  const refused = {
    'never issued': { ...good, bootstrapToken: randomToken('bootstrap') },
    "another runtime's": { ...good, bootstrapToken: other.bootstrapToken },
    'for a runtime that does not exist': { ...good, runtimeId: 'rt_01jd0000000000000000000000' },
    'for what is no runtime': { ...good, runtimeId: '' },
    'for a runtime with an odd name': { ...good, runtimeId: 'rt_\u0001' },
    'of another kind': { ...good, bootstrapToken: randomToken('runtimeAccess') },
    'with a wrong checksum': { ...good, bootstrapToken: `${good.bootstrapToken.slice(0, -1)}-` },
    empty: { ...good, bootstrapToken: '' },
    expired,
    spent,
  };
  const answers = new Set<string>();
  for (const [what, bootstrap] of Object.entries(refused)) {
    const reply = await exchange(stack(), bootstrap);
    isProblem(t, reply, 'unauthenticated', what);
    answers.add(JSON.stringify(anonymous(reply)));
  }
  t.is(answers.size, 1);
  t.is((await exchange(stack(), good)).status, 200, 'guesses do not spend the right one');
});

test('an exchange can be repeated until its session is first used: a reply may get lost', async (t) => {
  const bootstrap = await aBootstrap(stack(), await anAgentId());
  const first = await exchange(stack(), bootstrap);
  const again = await exchange(stack(), bootstrap);
  t.deepEqual(again.body, first.body);
  t.is((await authStatus(again)).status, 200);
  isProblem(t, await exchange(stack(), bootstrap), 'unauthenticated');
  t.is((await authStatus(first)).status, 200, 'which leaves the session as it is');
});

test('twenty exchanges at once are one session', async (t) => {
  const bootstrap = await aBootstrap(stack(), await anAgentId());
  const replies = await Promise.all(Array.from({ length: 20 }, () => exchange(stack(), bootstrap)));
  t.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([200]));
  t.is(new Set(replies.map((reply) => JSON.stringify(reply.body))).size, 1);
  t.is((await stack().db('token_families').where({ runtimeId: bootstrap.runtimeId })).length, 1);
});

test('the exchange of a newer bootstrap token ends the earlier session', async (t) => {
  const agentId = await anAgentId();
  const old = await aBootstrap(stack(), agentId);
  const first = await exchange(stack(), old);
  await authStatus(first);
  const newer = await aBootstrap(stack(), agentId);
  t.is((await authStatus(first)).status, 200, 'as long as nobody has exchanged it');
  const second = await exchange(stack(), newer);
  t.is(second.body.runtimeId, first.body.runtimeId);
  isProblem(t, await authStatus(first), 'unauthenticated');
  t.is((await authStatus(second)).status, 200);
});

test('a newer bootstrap token takes the place of one that nobody exchanged', async (t) => {
  const agentId = await anAgentId();
  const old = await aBootstrap(stack(), agentId);
  const newer = await aBootstrap(stack(), agentId);
  isProblem(t, await exchange(stack(), old), 'unauthenticated');
  t.is((await exchange(stack(), newer)).status, 200);
});

test('an access token is dead when its hour is over', async (t) => {
  const { db } = stack();
  const bootstrap = await aBootstrap(stack(), await anAgentId());
  const session = await exchange(stack(), bootstrap);
  await db('token_families')
    .update({ accessExpiresAt: db.raw('now()') })
    .where({ runtimeId: bootstrap.runtimeId });
  const reply = await authStatus(session);
  isProblem(t, reply, 'token_expired');
  t.is(reply.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
});

test('a refresh token opens nothing', async (t) => {
  const { body } = await exchange(stack(), await aBootstrap(stack(), await anAgentId()));
  isProblem(t, await withToken(body.refreshToken).call('runtime.auth.status'), 'unauthenticated');
});

test('when its agent is gone a runtime has neither session nor bootstrap token', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const runtime = await aRuntime(stack(), id);
  t.is((await runtime.call('runtime.auth.status')).status, 200);
  const waiting = await aBootstrap(stack(), id);
  const { body } = await ada.call('agents.delete', { id });
  await endJob(stack(), body.job, { status: 'succeeded' });
  t.is((await ada.call('agents.get', { id })).status, 404);
  isProblem(t, await runtime.call('runtime.auth.status'), 'unauthenticated');
  isProblem(t, await exchange(stack(), waiting), 'unauthenticated');
});

test('a newer runtime may say more than the service knows', async (t) => {
  const bootstrap = await aBootstrap(stack(), await anAgentId());
  const reply = await exchange(stack(), bootstrap, { cpu: 'arm64', features: { voice: true } });
  t.is(reply.status, 200);
});

test('a version that is none is refused before the token is looked at', async (t) => {
  const bootstrap = await aBootstrap(stack(), await anAgentId());
  for (const runtimeVersion of ['', '1', '1.0', 'v1.0.0', '1.0.0+build', '1.0.0; rm -rf /', `1.0.0-${'x'.repeat(60)}`])
    isProblem(t, await exchange(stack(), bootstrap, { runtimeVersion }), 'invalid_request', runtimeVersion);
  t.is((await exchange(stack(), bootstrap)).status, 200);
});

test('no token of a runtime stands in the database', async (t) => {
  const bootstrap = await aBootstrap(stack(), await anAgentId());
  const { body } = await exchange(stack(), bootstrap);
  for (const table of ['bootstrap_tokens', 'token_families', 'runtime_identities']) {
    const { rows } = await stack().db.raw<{ rows: { text: string }[] }>('select r::text as text from ?? as r', [table]);
    const text = rows.map((row) => row.text).join('\n');
    for (const token of [bootstrap.bootstrapToken, body.accessToken, body.refreshToken] as string[])
      for (const form of [token, Buffer.from(token).toString('hex')]) t.false(text.includes(form), table);
  }
});
