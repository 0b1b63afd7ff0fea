import test, { type ExecutionContext } from 'ava';
import { randomToken } from '../../src/models/opaque-token.js';
import type { Reply } from '../support/a-caller.js';
import { aNamedToken, signIn } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { aRuntime } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';
import { mintNextGatewayToken, findGatewayToken, openGatewayToken } from '../../src/models/gateway-token.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { type Named, type Row, rows } from '../support/the-table.js';

const stack = withStack(test, { workers: false });

type Who = 'owner' | 'stranger' | 'operator' | 'runtime' | 'reader' | 'nobody' | 'expired' | 'refused';
interface Credential {
  who: Who;
  token: string | undefined;
}

const makeCredentials = async () => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const agent = await ada.anAgent();
  const foreign = await eve.anAgent();
  const { body } = await ada.call('agents.provision', { id: agent.id });
  const [expired, revoked] = [await signIn(stack(), ada), await aNamedToken(stack(), ada)];
  const { db } = stack();
  await db('token_families').update({ accessExpiresAt: db.fn.now() }).where({ userId: expired.userId, kind: 'cli' });
  await ada.call('auth.sessions.revoke', { id: revoked.sessionId });
  const kept = await aNamedToken(stack(), ada);
  const keys = new KeyRing(stack().env['ENCRYPTION_KEYS'] ?? '');
  const gateway = await db.transaction(async (trx) => {
    await mintNextGatewayToken(trx, keys, agent.id, true);
    const row = await findGatewayToken(trx, agent.id);
    return row ? openGatewayToken(keys, row) : '';
  });
  const signedIn = await signIn(stack(), ada);
  const olivia = await stack().user(undefined, { role: 'operator' });
  const now = Math.floor(Date.now() / 1_000);
  const credentials: Record<string, Credential> = {
    'no token': { who: 'nobody', token: undefined },
    'an expired token of ours': { who: 'expired', token: expired.accessToken },
    'an expired bearer': { who: 'expired', token: await stack().issuer.token('mallory', { exp: now - 600 }) },
    'a revoked token': { who: 'refused', token: revoked.token },
    'user A': { who: 'owner', token: ada.token },
    "user A's device": { who: 'owner', token: signedIn.accessToken },
    'user B': { who: 'stranger', token: eve.token },
    'an operator': { who: 'operator', token: olivia.token },
    'runtime A': { who: 'runtime', token: (await aRuntime(stack(), agent.id)).token },
    'runtime B': { who: 'runtime', token: (await aRuntime(stack(), foreign.id)).token },
    'a gateway token': { who: 'refused', token: gateway },
    'a refresh token': { who: 'refused', token: signedIn.refreshToken },
    'a named read token': { who: 'reader', token: (await aNamedToken(stack(), ada, ['read'])).token },
    'a token never issued': { who: 'refused', token: randomToken('userAccess') },
    garbage: { who: 'refused', token: 'garbage' },
  };
  const resources: Record<Named, string> = { agent: agent.id, job: body.job.id as string, session: kept.sessionId };
  return { credentials, resources };
};

/** Said of an answer that got past the door: whatever it is, it is not about who asks. */
const isLetIn = ({ status, body }: Reply, row: Row): boolean =>
  status !== 403 && (status !== 401 || (row.endpoint.auth === 'none' && body.code === 'unauthenticated'));

/** What the record says of this caller, and whether the answer is that. */
const check = (t: ExecutionContext, row: Row, { who }: Credential, reply: Reply, about: string): string => {
  const { auth, scope, effect, secretOutput } = row.endpoint;
  const refused = (code: Parameters<typeof isProblem>[2]) => {
    isProblem(t, reply, code, about);
    return String(reply.status);
  };
  const letIn = (kind: string) => {
    t.true(isLetIn(reply, row), `${about} answered ${reply.status} ${JSON.stringify(reply.body)}`);
    return kind;
  };
  if (auth === 'none') return letIn('open');
  if (auth === 'runtime')
    return who === 'runtime'
      ? letIn('in')
      : refused(who === 'expired' && reply.body.code === 'token_expired' ? 'token_expired' : 'unauthenticated');
  if (who === 'nobody' || who === 'refused' || who === 'runtime') return refused('unauthenticated');
  if (who === 'expired') return refused('token_expired');
  if (auth === 'operator') return who === 'operator' ? letIn('in') : refused('operator_required');
  const mayRead = effect === 'read' && secretOutput !== true && scope !== '*';
  if (who === 'reader' && scope !== undefined && !mayRead) return refused('scope_required');
  if (row.names !== 'nothing' && (who === 'stranger' || who === 'operator')) return refused('not_found');
  return letIn('in');
};

test('who may call what is what the records say', async (t) => {
  t.timeout(60_000);
  const { credentials, resources } = await makeCredentials();
  const counts = new Map<string, number>();
  // What destroys comes last, so that what it destroys is there for the others.
  const order = rows.toSorted(
    (a, b) => Number(a.endpoint.effect === 'destroy') - Number(b.endpoint.effect === 'destroy'),
  );
  for (const row of order)
    for (const [name, credential] of Object.entries(credentials)) {
      const reply = await rawRequest(stack().url, {
        method: row.method,
        path: row.path(row.names === 'nothing' ? undefined : resources[row.names]),
        headers: {
          'content-type': 'application/json',
          ...(credential.token === undefined ? {} : { authorization: `Bearer ${credential.token}` }),
          ...(row.endpoint.events ? { 'last-event-id': '1000000' } : {}),
        },
        ...(row.body === undefined ? {} : { body: JSON.stringify(row.body) }),
      });
      const outcome = check(t, row, credential, reply, `${row.endpoint.id} for ${name}`);
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
  const names = Object.keys(credentials);
  t.log(
    `${rows.length} endpoints × ${names.length} credentials = ${rows.length * names.length}: ${[...counts].map(([what, count]) => `${count} ${what}`).join(', ')}`,
  );
});
