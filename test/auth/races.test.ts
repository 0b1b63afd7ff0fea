import test from 'ava';
import { ACaller, type Reply } from '../support/a-caller.js';
import { approve, poll, refresh, signIn, startLogin } from '../support/a-device-login.js';
import { aBootstrap, exchange } from '../support/a-runtime.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const ROUNDS = 15;
const opens = async (id: 'users.me' | 'runtime.auth.status', token: string): Promise<boolean> =>
  (await new ACaller(stack().url, token).call(id)).status === 200;
const tally = (outcomes: string[]): string =>
  [...new Set(outcomes)].map((one) => `${outcomes.filter((other) => other === one).length} × ${one}`).join(', ');

test('of two who decide on one code at once one decides', async (t) => {
  const [ada, eve] = [await stack().user(), await stack().user()];
  const [adaId, eveId] = [(await ada.call('users.me')).body.id, (await eve.call('users.me')).body.id];
  const outcomes: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const login = await startLogin(stack().nobody());
    const denial = ada.call('auth.device.deny', {}, { body: { userCode: login.userCode } });
    const replies: Reply[] = await Promise.all(
      round % 2 ? [denial, approve(eve, login)] : [approve(ada, login), approve(eve, login), denial],
    );
    t.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      round % 2 ? [200, 404] : [200, 404, 404],
    );
    const winner = replies.find(({ status }) => status === 200)?.body.status as string;
    const { body } = await poll(stack().nobody(), login);
    t.is(body.status, winner === 'denied' ? 'access_denied' : 'authorized');
    if (winner === 'approved') t.true([adaId, eveId].includes(body.userId));
    outcomes.push(winner);
  }
  t.log(`${ROUNDS} rounds: ${tally(outcomes)}, one decision each`);
});

test('who logs out while a refresh is under way is out', async (t) => {
  const ada = await stack().user();
  const outcomes: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { accessToken, refreshToken } = await signIn(stack(), ada);
    const out = () => stack().nobody().call('auth.logout', {}, { body: { refreshToken } });
    const [first, second] = await Promise.all(
      round % 2 ? [refresh(stack().nobody(), refreshToken), out()] : [out(), refresh(stack().nobody(), refreshToken)],
    );
    const refreshed = round % 2 ? first : second;
    outcomes.push(`refresh ${refreshed?.status}`);
    t.false(await opens('users.me', accessToken));
    if (refreshed?.status === 200) {
      t.false(await opens('users.me', refreshed.body.accessToken as string));
      t.is((await refresh(stack().nobody(), refreshed.body.refreshToken as string)).status, 401);
    }
  }
  t.log(`${ROUNDS} rounds: ${tally(outcomes)}; no token lived on`);
});

test('a machine that is started anew while the old one refreshes leaves one family', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const outcomes: string[] = [];
  let { body: session } = await exchange(stack(), await aBootstrap(stack(), id));
  for (let round = 0; round < ROUNDS; round++) {
    await opens('runtime.auth.status', session.accessToken);
    const bootstrap = await aBootstrap(stack(), id);
    const { refreshToken } = session;
    const [refreshed, anew] = await Promise.all([
      stack().nobody().call('runtime.auth.refresh', {}, { body: { refreshToken } }),
      exchange(stack(), bootstrap),
    ]);
    t.is(anew.status, 200);
    outcomes.push(`refresh ${refreshed.status}`);
    if (refreshed.status === 200) t.false(await opens('runtime.auth.status', refreshed.body.accessToken as string));
    t.true(await opens('runtime.auth.status', anew.body.accessToken as string));
    const alive = await stack().db('token_families').where({ runtimeId: bootstrap.runtimeId }).whereNull('revokedAt');
    t.is(alive.length, 1);
    session = anew.body;
  }
  t.log(`${ROUNDS} rounds: ${tally(outcomes)}; one family alive each time`);
});

test('exchanges of two bootstrap tokens of one runtime at once leave one family', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  for (let round = 0; round < ROUNDS; round++) {
    const old = await aBootstrap(stack(), id);
    await exchange(stack(), old);
    const replies = await Promise.all([exchange(stack(), old), exchange(stack(), await aBootstrap(stack(), id))]);
    t.is(replies[1]?.status, 200);
    const alive = await stack().db('token_families').where({ runtimeId: old.runtimeId }).whereNull('revokedAt');
    t.is(alive.length, 1);
  }
});
