import { randomBytes } from 'node:crypto';
import test from 'ava';
import { approve, poll, refresh, startLogin } from '../support/a-device-login.js';
import { withStack } from '../support/a-stack.js';
import { anotherApi } from '../support/another-api.js';

const [old, fresh] = ['k1', 'k2'].map((id) => `${id}:${randomBytes(32).toString('base64')}`);
const stack = withStack(test, { env: { ENCRYPTION_KEYS: `${old},${fresh}` } });

test('while keys are changed, processes of the old order and of the new one understand each other', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const [before, after] = [
    await anotherApi(stack(), { ENCRYPTION_KEYS: `${old},${fresh}` }),
    await anotherApi(stack(), { ENCRYPTION_KEYS: `${fresh},${old}` }),
  ];
  t.teardown(() => Promise.all([before.process.stop(), after.process.stop()]));
  for (const [one, other] of [
    [before, after],
    [after, before],
  ] as const) {
    const login = await startLogin(one.nobody());
    t.is((await approve(other.as(ada), login)).status, 200, 'a code of the one is known to the other');
    const { body } = await poll(one.nobody(), login);
    t.deepEqual((await poll(other.nobody(), login)).body, body, 'and the pair is told again by it');
    const renewed = await refresh(one.nobody(), body.refreshToken);
    t.deepEqual((await refresh(other.nobody(), body.refreshToken)).body, renewed.body);
    const forced = await one.as(ada).call('agents.rotate-gateway-token', { id }, { body: { force: true } });
    t.is((await one.as(ada).call('agents.gateway-access', { id })).status, 200);
    t.is((await other.as(ada).call('agents.gateway-access', { id })).status, 200);
    t.is((await ada.finished(forced.body.job)).status, 'succeeded', JSON.stringify(forced.body));
  }
});
