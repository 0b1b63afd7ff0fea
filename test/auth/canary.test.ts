import { randomBytes } from 'node:crypto';
import test from 'ava';
import { ACaller, type CallOptions, type Reply } from '../support/a-caller.js';
import { aNamedToken, approve, poll, refresh, startLogin } from '../support/a-device-login.js';
import { startProcess } from '../support/a-process.js';
import { withStack } from '../support/a-stack.js';
import { aBootstrap } from '../support/a-runtime.js';
import { databaseText, folderText, historiesText, secretsIn, tokenPattern } from '../support/told-secrets.js';

const stack = withStack(test, { api: false, workers: false, env: { LOG_LEVEL: 'debug' } });

const botToken = `7000000001:${randomBytes(26).toString('base64url')}`;

/** Remembers the body of every error. */
class Listening extends ACaller {
  static errors: string[] = [];
  override async request(method: string, path: string, options?: CallOptions): Promise<Reply> {
    const reply = await super.request(method, path, options);
    if (reply.status >= 400) Listening.errors.push(JSON.stringify([reply.body, [...reply.headers]]));
    return reply;
  }
}

test('no secret that went through any flow stands in the database, a history, a log or an error', async (t) => {
  t.timeout(110_000);
  const { env, url, db } = stack();
  const started = await Promise.all(
    (['src/server', 'workers/control', 'workers/host'] as const).map((program) => startProcess(program, env)),
  );
  t.teardown(() => Promise.all(started.map((one) => one.stop())));
  const nobody = new Listening(url, undefined);
  const person = (await stack().user()).token;
  const ada = new Listening(url, person);
  const secrets = new Map<string, string>();
  const keep = (name: string, secret: unknown): string => {
    secrets.set(name, String(secret));
    return String(secret);
  };
  keep('encryption key', env['ENCRYPTION_KEYS']);
  keep('database password', new URL(env['DATABASE_URL'] ?? '').password);
  keep("host's token", env['HOST_API_TOKEN']);
  keep("identity provider's bearer", person);
  keep('bot token', botToken);

  // A device is let in, refreshes, loses an answer, is replayed, logs out; one is denied.
  const login = await startLogin(nobody, { clientName: 'my laptop' });
  keep('device code', login.deviceCode);
  keep('user code', login.userCode);
  keep('user code as stored', login.userCode.replace('-', ''));
  await poll(nobody, login);
  await ada.call('auth.device.lookup', {}, { query: { userCode: login.userCode } });
  await approve(ada, login);
  await approve(ada, login);
  const first = (await poll(nobody, login)).body;
  const second = (await refresh(nobody, first.refreshToken)).body;
  for (const [name, pair] of Object.entries({ first, second })) {
    keep(`${name} access token`, pair.accessToken);
    keep(`${name} refresh token`, pair.refreshToken);
  }
  const device = new Listening(url, second.accessToken);
  t.is((await device.call('users.me')).status, 200);
  const named = await aNamedToken({ url }, device);
  keep('named token', named.token);
  await refresh(nobody, first.refreshToken);
  await nobody.call('auth.logout', {}, { body: { refreshToken: second.refreshToken } });
  const stranger = await startLogin(nobody);
  keep("stranger's device code", stranger.deviceCode);
  await ada.call('auth.device.deny', {}, { body: { userCode: stranger.userCode } });

  // An agent with a bot token is provisioned, stopped, started, its gateway token rotated.
  const channels = { messengerA: { botToken } };
  const { id } = (
    await ada.call('agents.create', {}, { body: { name: 'an agent', channels }, headers: { 'idempotency-key': 'k' } })
  ).body;
  const wait = { headers: { prefer: 'wait=60' } };
  const steps = ['agents.provision', 'agents.stop', 'agents.start', 'agents.rotate-gateway-token'] as const;
  for (const verb of steps) {
    t.is((await ada.call(verb, { id }, wait)).body.job?.status, 'succeeded', verb);
    keep(`gateway token after ${verb}`, (await ada.call('agents.gateway-access', { id })).body.gatewayToken);
  }
  // A command is asked for in secret, says a secret, and fails with one; the log of the machine holds another.
  const aWord = (): string => randomBytes(24).toString('hex');
  const [asked, said, logged] = [aWord(), aWord(), aWord()] as const;
  keep('in a command', asked);
  keep('in the output of a command', said);
  keep('in the log of a machine', logged);
  const words = (text: string) => `printf %s ${text.split('').toReversed().join('')} | rev`;
  const scripts = [
    `: ${asked}; ${words(said)}; ${words(said)} >&2`,
    `: ${asked}; (${words(logged)}; echo) >> "$ACP_STATE_DIR/runtime.log"`,
    `: ${asked}; head -c 1000000 /dev/zero`,
  ];
  for (const script of scripts) {
    const body = { command: ['sh', '-c', script] };
    const { job } = (await ada.call('agents.run-command', { id }, { ...wait, body })).body;
    if (script === scripts[0]) t.deepEqual([job.result.stdout, job.result.stderr], [said, said]);
    await ada.call('agents.run-command', { id }, { body: { ...body, timeoutSeconds: asked, unknown: said } });
  }
  t.is((await ada.call('agents.logs', { id }, { query: { tail: 1 } })).body.lines[0].text, logged);
  await ada.call('audit.list');
  // A machine takes its bootstrap token and session with it: what is in its folder is known to be secret.
  const machine = await folderText(stack().hostFolder);
  for (const token of new Set(machine.match(tokenPattern))) keep(`on the machine: ${token.slice(0, 14)}…`, token);
  const mine = await aBootstrap(stack(), id);
  keep('bootstrap token', mine.bootstrapToken);
  const exchanged = (
    await nobody.call('runtime.bootstrap.exchange', {}, { body: { ...mine, runtimeVersion: '1.0.0' } })
  ).body;
  keep('runtime access token', exchanged.accessToken);
  keep('runtime refresh token', exchanged.refreshToken);
  const renewed = (await nobody.call('runtime.auth.refresh', {}, { body: { refreshToken: exchanged.refreshToken } }))
    .body;
  keep('second runtime refresh token', renewed.refreshToken);

  // Secrets where they do not belong, and a database that fails while it is handed them.
  const everySecret = [...secrets.values()];
  for (const secret of everySecret) {
    await ada.call('agents.create', {}, { body: { name: [secret], plan: secret, unknown: secret } });
    await ada.call('agents.update', { id }, { body: { channels: { messengerA: { botToken: [secret] } } } });
    await nobody.call('auth.refresh', {}, { body: { refreshToken: { token: secret } } });
    await nobody.call('auth.device.poll', {}, { body: { deviceCode: secret, unknown: secret } });
    await nobody.call('runtime.bootstrap.exchange', {}, { body: { ...mine, runtimeVersion: secret } });
    await new Listening(url, secret.replaceAll(/[^\w.~+/=-]/g, '')).call('users.me');
    await new Listening(url, secret.replaceAll(/[^\w.~+/=-]/g, '')).call('runtime.auth.status');
    await ada.call('audit.list', {}, { query: { cursor: secret, subject: secret } });
  }
  const beforeTheFailure = Listening.errors.length;
  await db.raw('alter table spent_refresh_tokens rename to gone');
  await db.raw('alter table device_logins rename to gone_too');
  t.is((await nobody.call('runtime.auth.refresh', {}, { body: { refreshToken: renewed.refreshToken } })).status, 500);
  t.is((await poll(nobody, login)).status, 500);
  t.is((await nobody.call('auth.device.start', {}, { body: {} })).status, 500);
  t.is((await approve(ada, login)).status, 500);
  await db.raw('alter table gone rename to spent_refresh_tokens');
  await db.raw('alter table gone_too rename to device_logins');
  await ada.call('agents.delete', { id }, wait);

  const database = await databaseText(stack());
  const temporal = await historiesText(stack());
  const outputs = await Promise.all(started.map(async (one) => (await one.stop(), one.output())));
  const logs = outputs.join('\n');
  const found = {
    database: secretsIn(database.text, secrets),
    histories: secretsIn(temporal.text, secrets),
    logs: secretsIn(logs, secrets),
    errors: secretsIn(Listening.errors.join('\n'), secrets),
  };
  t.log(
    [
      `${secrets.size} secrets in 5 forms, looked for in`,
      `${database.tables} tables (${database.text.length} characters),`,
      `${temporal.histories} histories (${temporal.events} events, ${temporal.text.length} characters),`,
      `logs of 3 processes at debug (${logs.split('\n').length} lines, ${logs.length} characters),`,
      `${Listening.errors.length} errors (${beforeTheFailure} before the database failed):`,
      `${Object.values(found).flat().length} found`,
    ].join(' '),
  );
  t.deepEqual(found, { database: [], histories: [], logs: [], errors: [] });
  t.is(logs.split('"msg":"unexpected error"').length - 1, 4, 'the failures were logged');
  for (const text of [database.text, temporal.text, logs]) t.true(text.includes(id), 'the right place was searched');
  t.true(secrets.size > 20);
});
