import test from 'ava';
import type { EndpointRecord } from '../../src/contract/endpoint.js';
import { type SessionScope, sessionScopes } from '../../src/contract/shapes/session.js';
import type { ACaller } from '../support/a-caller.js';
import { aNamedToken, signIn, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';
import { authKinds, type Row } from '../support/the-table.js';

const stack = withStack(test, { workers: false });
const userRows = authKinds('user', 'operator');

const ask = (row: Row, caller: ACaller, path = row.path(), body: unknown = row.body) =>
  rawRequest(stack().url, {
    method: row.method,
    path,
    headers: { authorization: `Bearer ${caller.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

/** Everything the service keeps, but for when a session was used and what the dispatcher notes. */
const everything = async (): Promise<string> => {
  const { rows } = await stack().db.raw<{ rows: { name: string }[] }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  const parts = rows.map(async ({ name }) => {
    const noted = `- 'used_at' - 'last_used_at' - 'dispatched_at' - 'looked_at' - 'version' - 'updated_at'`;
    const dump = await stack().db.raw<{ rows: { text: string }[] }>(
      `select (to_jsonb(r) ${name === 'token_families' || name === 'jobs' ? noted : ''})::text as text from ?? as r order by 1`,
      [name],
    );
    return `${name}:\n${dump.rows.map(({ text }) => text).join('\n')}`;
  });
  return (await Promise.all(parts)).join('\n');
};

/** In the words of the contract: everything, one's area, or all reading but of secrets. */
const may = (scopes: readonly SessionScope[], { scope, effect, secretOutput }: EndpointRecord): boolean => {
  if (scope === undefined || scopes.includes('*')) return true;
  if (scope === '*') return false;
  return scopes.includes(scope) || (scopes.includes('read') && effect === 'read' && secretOutput !== true);
};

test.serial('a read-only session can change nothing on any route, as whatever client', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anAgent({ channels: { messengerA: { botToken: 'a bot token' } } });
  const { body } = await ada.call('agents.provision', { id: agent.id });
  const login = await startLogin(stack().nobody(), { scopes: ['read'] });
  const { sessionId } = await aNamedToken(stack(), ada);
  const resources = { agent: agent.id, job: body.job.id as string, session: sessionId, nothing: '' };
  const clients = {
    cli: (await signIn(stack(), ada, { scopes: ['read'] })).device,
    mcp: (await signIn(stack(), ada, { scopes: ['read'], kind: 'mcp' })).device,
    token: (await aNamedToken(stack(), ada, ['read'])).caller,
  };
  const before = await everything();
  let [asked, refused, read] = [0, 0, 0];
  for (const [kind, caller] of Object.entries(clients))
    for (const row of userRows.filter(({ endpoint }) => endpoint.events !== true)) {
      const path = row.path(resources[row.names]).replace('BCDF-GHJK', login.userCode);
      const sent = JSON.parse(JSON.stringify(row.body ?? null).replace('BCDF-GHJK', login.userCode)) ?? undefined;
      const reply = await ask(row, caller, path, sent);
      const about = `${kind}: ${row.endpoint.id}`;
      asked += 1;
      const code = row.endpoint.auth === 'operator' ? 'operator_required' : 'scope_required';
      if (row.endpoint.effect !== 'read') isProblem(t, reply, code, about);
      if (reply.status === 403) refused += 1;
      else read += 1;
      t.true([200, 403].includes(reply.status), `${about} answered ${reply.status} ${JSON.stringify(reply.body)}`);
    }
  t.is(await everything(), before);
  t.log(
    `${asked} requests by 3 kinds of read-only sessions: ${read} read, ${refused} refused, 0 changes in ${before.length} characters of tables`,
  );
});

for (const scope of sessionScopes)
  test.serial(`a session with the scope ${scope} is let into its area and nowhere else`, async (t) => {
    const { caller } = await aNamedToken(stack(), await stack().user(), [scope]);
    const allowed: string[] = [];
    for (const row of userRows) {
      const reply = await ask(row, caller);
      const about = `${row.endpoint.id} answered ${reply.status} ${JSON.stringify(reply.body).slice(0, 200)}`;
      if (row.endpoint.auth === 'operator') t.is(reply.body.code, 'operator_required', about);
      else if (may([scope], row.endpoint)) {
        allowed.push(row.endpoint.id);
        t.not(reply.body.code, 'scope_required', about);
        t.not(reply.status, 401, about);
      } else isProblem(t, reply, 'scope_required', about);
    }
    t.log(`${allowed.length} of ${userRows.length}: ${allowed.join(' ')}`);
    t.is(allowed.length === userRows.filter(({ endpoint }) => endpoint.auth === 'user').length, scope === '*');
  });

test.serial('what holds a secret is not for those who only read', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const secret = userRows.filter(({ endpoint }) => endpoint.secretOutput && endpoint.effect === 'read');
  t.deepEqual(
    secret.map(({ endpoint }) => endpoint.id),
    ['agents.gateway-access', 'agents.logs'],
  );
  const reader = (await aNamedToken(stack(), ada, ['read'])).caller;
  const worker = (await aNamedToken(stack(), ada, ['agents'])).caller;
  isProblem(t, await reader.call('agents.gateway-access', { id }), 'scope_required');
  isProblem(t, await worker.call('agents.gateway-access', { id }), 'agent_not_provisioned');
});

test.serial('scopes are checked before anything is told of the resource', async (t) => {
  const ada = await stack().user();
  const billing = (await aNamedToken(stack(), ada, ['billing'])).caller;
  const { id } = await ada.anAgent();
  const [there, absent] = [
    await billing.call('agents.get', { id }),
    await billing.call('agents.get', { id: 'agt_01jd0000000000000000000000' }),
  ];
  isProblem(t, there, 'scope_required');
  t.is(there.body.detail, absent.body.detail);
});
