import test from 'ava';
import { ACaller } from '../support/a-caller.js';
import { poll, approve, aNamedToken, signIn, type StartedLogin, startLogin } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { rawRequest } from '../support/a-raw-request.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const start = (fields: Record<string, unknown> = {}): Promise<StartedLogin> => startLogin(stack().nobody(), fields);
const asked = (login: StartedLogin) => poll(stack().nobody(), login);

/** The row of the login that was opened last. */
const newest = async () => stack().db('device_logins').orderBy('id', 'desc').first();
test.serial('how people type the code does not matter', async (t) => {
  const ada = await stack().user();
  const spellings: ((code: string) => string)[] = [
    (code) => code.toLowerCase(),
    (code) => code.replace('-', ''),
    (code) => code.replace('-', ' '),
    (code) => ` ${code} `,
    (code) => code.split('').join('.'),
    (code) => code.replace('-', '—'),
  ];
  for (const spelling of spellings) {
    const login = await start();
    t.is((await approve(ada, { ...login, userCode: spelling(login.userCode) })).status, 200, spelling(login.userCode));
  }
});

test.serial('the approver grants what was asked for or less, and never more than they have', async (t) => {
  const ada = await stack().user();
  const narrowed = await start({ scopes: ['agents', 'billing'] });
  t.is((await approve(ada, narrowed, { scopes: ['agents'] })).status, 200);
  const { body } = await asked(narrowed);
  const sessions = (await ada.call('auth.sessions.list')).body.sessions;
  t.deepEqual(sessions[0].scopes, ['agents'], JSON.stringify(body));

  const everything = await start();
  t.is((await approve(ada, everything, { scopes: ['read'] })).status, 200, 'of everything, reading alone');
  const reader = new ACaller(stack().url, (await asked(everything)).body.accessToken as string);
  isProblem(t, await reader.call('agents.create', {}, { body: { name: 'x' } }), 'scope_required');

  const widened = await start({ scopes: ['read'] });
  for (const scopes of [['*'], ['read', 'agents'], ['agents']])
    isProblem(t, await approve(ada, widened, { scopes }), 'invalid_request', scopes.join());
  for (const scopes of [[], ['everything'], 'read', [['read']], null])
    isProblem(t, await approve(ada, widened, { scopes }), 'invalid_request', JSON.stringify(scopes));
  t.is((await asked(widened)).body.status, 'authorization_pending', 'which decided nothing');
  t.is((await approve(ada, widened)).status, 200, 'and counted as no wrong code');
});

test.serial('a session with less than everything cannot let anybody in', async (t) => {
  const ada = await stack().user();
  for (const scopes of [['read'], ['agents'], ['read', 'agents', 'billing', 'spend:approve', 'runtime']]) {
    const login = await start({ scopes });
    for (const { caller } of [
      await aNamedToken(stack(), ada, scopes),
      { caller: (await signIn(stack(), ada, { scopes })).device },
    ]) {
      isProblem(t, await approve(caller, login), 'scope_required', scopes.join());
      isProblem(t, await caller.call('auth.device.deny', {}, { body: { userCode: login.userCode } }), 'scope_required');
      const query = { userCode: login.userCode };
      isProblem(t, await caller.call('auth.device.lookup', {}, { query }), 'scope_required');
    }
    t.is((await asked(login)).body.status, 'authorization_pending');
  }
  const { device } = await signIn(stack(), ada);
  const login = await start();
  t.is((await approve(device, login)).status, 200, 'a session with everything can');
});

test.serial('nothing is approved by an address alone', async (t) => {
  const ada = await stack().user();
  const login = await start();
  const code = { userCode: login.userCode, user_code: login.userCode };
  const paths = [
    '/auth/device',
    '/api/auth/device/approve',
    '/api/auth/device/lookup',
    '/api/auth/device/poll',
    '/api/auth/device/start',
  ];
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      await rawRequest(stack().url, {
        method,
        path: `${path}?${new URLSearchParams(code).toString()}`,
        headers: { authorization: `Bearer ${ada.token}` },
      });
  isProblem(t, await ada.request('POST', '/api/auth/device/approve', { query: code }), 'invalid_request');
  isProblem(t, await ada.request('POST', '/api/auth/device/approve', { query: code, body: {} }), 'invalid_request');
  t.like(await newest(), { status: 'pending', userId: null });
  t.is((await asked(login)).body.status, 'authorization_pending');
});
