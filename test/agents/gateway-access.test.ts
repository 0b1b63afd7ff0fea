import test from 'ava';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);
const wait = { headers: { prefer: 'wait=60' } };

test('gateway access opens the gateway on the machine; before it is provisioned there is none', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  t.is((await ada.call('agents.gateway-access', { id })).body.code, 'agent_not_provisioned');
  await ada.call('agents.provision', { id }, wait);
  const { body } = await ada.call('agents.gateway-access', { id });
  const rpc = (token: string) =>
    fetch(`${body.gatewayUrl}/api/v1/admin/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'health' }),
    });
  t.is((await rpc(body.gatewayToken)).status, 200);
  t.is((await rpc('acp_gw_wrong')).status, 401);
});

test('a rotated gateway token replaces the old one when the machine has it', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const before = (await ada.call('agents.gateway-access', { id })).body.gatewayToken;
  const rotating = await ada.call('agents.rotate-gateway-token', { id });
  t.is(rotating.status, 202);
  t.is(rotating.body.agent.status, 'updating');
  t.is((await ada.finished(rotating.body.job)).status, 'succeeded');
  const after = (await ada.call('agents.gateway-access', { id })).body;
  t.not(after.gatewayToken, before);
  t.is((await ada.agent(id)).status, 'online');
  const ask = (token: string) =>
    fetch(`${after.gatewayUrl}/api/v1/admin/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'health' }),
    }).then((response) => response.status);
  t.is(await ask(after.gatewayToken), 200);
  t.is(await ask(before), 401);
  const { sealed } = await stack().db('gateway_tokens').where({ agentId: id, state: 'current' }).first();
  t.false(JSON.stringify(sealed).includes(after.gatewayToken));
});

test('the machine has used its runtime token, and the database holds none of it in plain', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const [session] = await stack()
    .db('token_families')
    .whereNull('revokedAt')
    .whereIn('runtimeId', stack().db('runtime_identities').select('id').where({ agentId: agent.id }));
  t.truthy(session?.usedAt, 'the runtime has used its access token');
  t.false(JSON.stringify(session).includes('acp_rat_'));
});
