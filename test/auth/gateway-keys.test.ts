import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import test from 'ava';
import { ACaller, type Reply } from '../support/a-caller.js';
import { refresh, signIn } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';

const stack = withStack(test);

const run = promisify(execFile);
const reencrypt = (keys: string) =>
  run(process.execPath, ['dist/src/cli/main.js', 'admin', 'reencrypt'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: stack().env['DATABASE_URL'], ENCRYPTION_KEYS: keys },
  });
const access = (by: ACaller, id: string): Promise<Reply> => by.call('agents.gateway-access', { id });
const opens = async (gatewayUrl: string, token: string): Promise<boolean> => {
  const response = await fetch(`${gatewayUrl}/api/v1/admin/rpc`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ method: 'health' }),
  });
  await response.text();
  return response.status === 200;
};
const keyIds = async (): Promise<string[]> => {
  const { rows } = await stack().db.raw<{ rows: { id: string }[] }>(
    `select sealed ->> 'keyId' as id from gateway_tokens union all
     select sealed_bot_token ->> 'keyId' from agents where sealed_bot_token is not null`,
  );
  return rows.map(({ id }) => id);
};

test.serial('both gateway tokens count until the machine has the new one, then the old one is dead', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const { gatewayUrl, gatewayToken: old } = (await access(ada, id)).body;
  stack().host.fault({ match: { method: 'POST', path: '/secrets' }, mode: 'delay', delayMs: 1_500, times: 1 });
  const { body } = await ada.call('agents.rotate-gateway-token', { id });
  const states = async () =>
    (await stack().db('gateway_tokens').where({ agentId: id }).orderBy('id')).map(
      ({ state }: { state: string }) => state,
    );
  t.deepEqual(await states(), ['current', 'next']);
  t.is((await access(ada, id)).body.gatewayToken, old, 'the machine still has the old one');
  t.true(await opens(gatewayUrl, old));
  t.is((await ada.finished(body.job)).status, 'succeeded');
  const { gatewayToken: fresh } = (await access(ada, id)).body;
  t.not(fresh, old);
  t.deepEqual([await opens(gatewayUrl, fresh), await opens(gatewayUrl, old)], [true, false]);
  t.deepEqual(await states(), ['retired', 'current']);

  const forced = await ada.call('agents.rotate-gateway-token', { id }, { body: { force: true } });
  t.not((await access(ada, id)).body.gatewayToken, fresh, 'with force the old one is not shown for a moment longer');
  t.deepEqual(await states(), ['retired', 'retired', 'current']);
  t.is((await ada.finished(forced.body.job)).status, 'succeeded');
  t.deepEqual(
    [await opens(gatewayUrl, (await access(ada, id)).body.gatewayToken), await opens(gatewayUrl, fresh)],
    [true, false],
  );
});

test.serial('a sealed token opens in its own row alone', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const [mine, theirs] = [await ada.anOnlineAgent(), await eve.anOnlineAgent()];
  const { db } = stack();
  const { sealed } = await db('gateway_tokens').where({ agentId: theirs.id }).first();
  const { sealed: own } = await db('gateway_tokens').where({ agentId: mine.id }).first();
  t.is(own.keyId, 'k1');
  await db('gateway_tokens')
    .update({ sealed: JSON.stringify(sealed) })
    .where({ agentId: mine.id });
  isProblem(t, await access(ada, mine.id), 'internal', 'moved from another row');
  await db('gateway_tokens')
    .update({ sealed: JSON.stringify(own) })
    .where({ agentId: mine.id });
  t.is((await access(ada, mine.id)).status, 200);
});

test.serial('agentctl seals everything anew, and the old key can go', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await ada.call(
    'agents.update',
    { id: agent.id },
    { body: { channels: { messengerA: { botToken: 'a bot token' } } } },
  );
  const device = await signIn(stack(), ada);
  const before = (await access(ada, agent.id)).body;
  const old = stack().env['ENCRYPTION_KEYS'] ?? '';
  const fresh = `k2:${randomBytes(32).toString('base64')}`;

  await t.throwsAsync(reencrypt(fresh), { message: /no key with id k1/ }, 'without the old key it cannot, and says so');
  t.deepEqual([...new Set(await keyIds())], ['k1']);
  const { stdout } = await reencrypt(`${fresh},${old}`);
  const sealed = await keyIds();
  t.is(stdout, `sealed ${sealed.length} values anew\n`);
  t.deepEqual([...new Set(sealed)], ['k2']);
  t.is((await reencrypt(`${fresh},${old}`)).stdout, 'sealed 0 values anew\n', 'a second time there is nothing to do');
  t.log(`${sealed.length} values sealed anew by k2; API with k2 alone from here`);

  const api = await anotherApi(stack(), { ENCRYPTION_KEYS: fresh });
  t.teardown(() => api.process.stop());
  t.deepEqual((await access(api.as(ada), agent.id)).body, before);
  t.is((await api.as(device.device).call('users.me')).status, 200, 'tokens of before are known by their hash');
  const renewed = await refresh(api.nobody(), device.refreshToken);
  t.is(renewed.status, 200, 'and are followed by ones of the new key');
  t.deepEqual((await refresh(api.nobody(), device.refreshToken)).body, renewed.body);
  t.is((await new ACaller(api.url, renewed.body.accessToken).call('users.me')).status, 200);
  t.is((await signIn({ ...api, nobody: api.nobody }, api.as(ada))).userId, device.userId);
});
