import test, { type ExecutionContext } from 'ava';
import { mintNextGatewayToken } from '../../src/models/gateway-token.js';
import { KeyRing } from '../../src/models/key-ring.js';
import type { ACaller, Reply } from '../support/a-caller.js';
import { approve, poll, refresh, signIn, startLogin } from '../support/a-device-login.js';
import { aBootstrap, exchange } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

interface Event {
  id: string;
  action: string;
  actor: { type: string; id: string; sessionId: string | null };
  subject: { type: string; id: string };
  requestId: string;
  at: string;
}
const eventsOf = async (by: ACaller, query: Record<string, string | number> = {}): Promise<Event[]> =>
  (await by.call('audit.list', {}, { query })).body.events;
const idOf = async (by: ACaller): Promise<string> => (await by.call('users.me')).body.id;

/** Gives the agent a gateway without a machine. */
const withGateway = async (agentId: string): Promise<void> => {
  const { db, env } = stack();
  await db('agents')
    .update({ gatewayUrl: 'http://127.0.0.1:1', provisionedAt: db.fn.now(), hostMachineId: 'm' })
    .where({ id: agentId });
  await db.transaction((trx) => mintNextGatewayToken(trx, new KeyRing(env['ENCRYPTION_KEYS'] ?? ''), agentId, true));
};

/** The transaction that last wrote the row. */
const writerOf = async (table: string, id: string): Promise<string> => {
  const { rows } = await stack().db.raw<{ rows: { xmin: string }[] }>('select xmin::text from ?? where id = ?', [
    table,
    id,
  ]);
  return rows[0]?.xmin ?? 'nobody';
};

/** One event for one change, by the right one, under the name of its request. */
const tells = async (
  t: ExecutionContext,
  person: ACaller,
  reply: Reply,
  expected: {
    action: string;
    subjectId?: string;
    actor?: string;
    sessionId?: string | null;
    writes?: [string, string];
  },
): Promise<string> => {
  const all = await eventsOf(person, { limit: 100 });
  const events = all.filter(({ requestId }) => requestId === reply.headers.get('x-request-id'));
  const [event] = events;
  t.deepEqual(
    events.map(({ action }) => action),
    [expected.action],
    JSON.stringify(reply.body),
  );
  if (!event) return expected.action;
  if (expected.subjectId) t.is(event.subject.id, expected.subjectId);
  if (expected.actor) t.is(event.actor.id, expected.actor);
  if (expected.sessionId !== undefined) t.is(event.actor.sessionId, expected.sessionId);
  t.true(Math.abs(Date.parse(event.at) - Date.now()) < 60_000);
  if (expected.writes)
    t.is(
      await writerOf('audit_events', event.id),
      await writerOf(...expected.writes),
      `${expected.action}: another transaction`,
    );
  return expected.action;
};

test.serial(
  'each thing that matters is told once, by whom and in whose request, in the transaction of the change',
  async (t) => {
    const { db } = stack();
    const ada = await stack().user();
    const me = await idOf(ada);
    const nobody = stack().nobody();
    const seen: string[] = [];
    const newestLogin = async () => (await db('device_logins').orderBy('id', 'desc').first()).id as string;
    const newestFamily = async () => (await db('token_families').orderBy('id', 'desc').first()).id as string;

    const login = await startLogin(nobody, { clientName: 'my laptop' });
    const approved = await approve(ada, login);
    const loginId = await newestLogin();
    seen.push(
      await tells(t, ada, approved, {
        action: 'device.approved',
        subjectId: loginId,
        actor: me,
        sessionId: null,
        writes: ['device_logins', loginId],
      }),
    );
    const opened = await poll(nobody, login);
    const cli = await newestFamily();
    seen.push(
      await tells(t, ada, opened, {
        action: 'session.opened',
        subjectId: cli,
        actor: me,
        writes: ['token_families', cli],
      }),
    );
    const stranger = await startLogin(nobody);
    const denied = await ada.call('auth.device.deny', {}, { body: { userCode: stranger.userCode } });
    const deniedId = await newestLogin();
    seen.push(
      await tells(t, ada, denied, {
        action: 'device.denied',
        subjectId: deniedId,
        writes: ['device_logins', deniedId],
      }),
    );

    const device = await signIn(stack(), ada);
    const deviceSession = await newestFamily();
    const body = { name: 'a token', scopes: ['read'], expiresInDays: 1 };
    const made = await device.device.call('auth.tokens.create', {}, { body });
    const named = made.body.session.id as string;
    seen.push(
      await tells(t, ada, made, {
        action: 'session.opened',
        subjectId: named,
        actor: me,
        sessionId: deviceSession,
        writes: ['token_families', named],
      }),
    );
    const revoked = await device.device.call('auth.sessions.revoke', { id: named });
    seen.push(
      await tells(t, ada, revoked, {
        action: 'session.revoked',
        subjectId: named,
        sessionId: deviceSession,
        writes: ['token_families', named],
      }),
    );
    const out = await nobody.call('auth.logout', {}, { body: { refreshToken: device.refreshToken } });
    seen.push(
      await tells(t, ada, out, {
        action: 'session.ended',
        subjectId: deviceSession,
        writes: ['token_families', deviceSession],
      }),
    );

    const stolen = await signIn(stack(), ada);
    const stolenSession = await newestFamily();
    const { body: second } = await refresh(nobody, stolen.refreshToken);
    await refresh(nobody, second.refreshToken);
    const reused = await refresh(nobody, stolen.refreshToken);
    seen.push(
      await tells(t, ada, reused, {
        action: 'session.ended_by_reuse',
        subjectId: stolenSession,
        writes: ['token_families', stolenSession],
      }),
    );

    const { id } = await ada.anAgent();
    const bootstrap = await aBootstrap(stack(), id);
    const exchanged = await exchange(stack(), bootstrap);
    const runtimeFamily = await newestFamily();
    seen.push(
      await tells(t, ada, exchanged, {
        action: 'runtime.session_opened',
        subjectId: bootstrap.runtimeId,
        actor: bootstrap.runtimeId,
        sessionId: runtimeFamily,
        writes: ['token_families', runtimeFamily],
      }),
    );
    const { refreshToken } = exchanged.body as { refreshToken: string };
    const runtimeOut = await nobody.call('runtime.auth.revoke', {}, { body: { refreshToken } });
    seen.push(
      await tells(t, ada, runtimeOut, {
        action: 'session.ended',
        subjectId: runtimeFamily,
        actor: bootstrap.runtimeId,
      }),
    );

    await withGateway(id);
    seen.push(
      await tells(t, ada, await ada.call('agents.gateway-access', { id }), {
        action: 'gateway_token.read',
        subjectId: id,
        actor: me,
      }),
    );
    const rotated = await ada.call('agents.rotate-gateway-token', { id });
    const { id: tokenId } = await db('gateway_tokens').where({ agentId: id, state: 'current' }).first();
    seen.push(
      await tells(t, ada, rotated, {
        action: 'gateway_token.rotated',
        subjectId: id,
        actor: me,
        writes: ['gateway_tokens', tokenId],
      }),
    );
    seen.push(
      await tells(t, ada, await ada.call('agents.delete', { id }), {
        action: 'agent.deleted',
        subjectId: id,
        actor: me,
      }),
    );

    t.log(`${seen.length} changes, one event each: ${[...new Set(seen)].join(', ')}`);
    const text = JSON.stringify(await db('audit_events'));
    t.false(/acp_[a-z]+_[0-9A-Za-z]{20}/.test(text), 'and never a token');
  },
);
