import { Client, Connection } from '@temporalio/client';
import test, { type ExecutionContext } from 'ava';
import type { FaultMode } from '../../local/faults.js';
import { randomToken } from '../../src/models/opaque-token.js';
import { ACaller, type Reply } from '../support/a-caller.js';
import { startProcess } from '../support/a-process.js';
import { HOST_TOKEN, type Stack, startStack } from '../support/a-stack.js';
import { appNameOf } from '../support/host-side.js';
import { until } from '../support/until.js';

/** Everything in a history that a person could read, payloads decoded. */
const textOf = (value: unknown): string => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value === 'object' && value !== null) return Object.values(value).map(textOf).join('\n');
  return typeof value === 'string' ? value : '';
};

const historiesOf = async (t: ExecutionContext, { db, env }: Stack): Promise<string[]> => {
  const connection = await Connection.connect({ address: env['TEMPORAL_ADDRESS'] ?? '' });
  t.teardown(() => connection.close());
  const client = new Client({ connection });
  const jobs: { workflowId: string }[] = await db('jobs').select('workflowId');
  return Promise.all(
    jobs.map(async ({ workflowId }) => {
      const handle = client.workflow.getHandle(workflowId);
      return `${textOf(await handle.fetchHistory())}\n${textOf((await handle.describe()).raw)}`;
    }),
  );
};

/** Words a vendor might say in an error, a token among them. */
const planted = randomToken('gateway');
const indiscreet = {
  error: `bad token ${planted} at https://host.example/?token=${planted}`,
  status: 'insufficient_capacity',
};

/** A life with all that handles secrets in it, some of it failing; returns the gateway's tokens. */
const live = async ({ host }: Stack, ada: ACaller): Promise<string[]> => {
  const wait = { headers: { prefer: 'wait=60' } };
  const tokenOf = async (id: string) => (await ada.call('agents.gateway-access', { id })).body.gatewayToken as string;
  const lie = (id: string, path: string, mode: FaultMode, status = 500) =>
    host.fault({ match: { method: 'POST', path: `/apps/${appNameOf(id)}${path}` }, mode, status, body: indiscreet });

  const { id } = await ada.anAgent();
  lie(id, '/secrets', 'error-after');
  lie(id, '/machines', 'malformed');
  await ada.call('agents.provision', { id }, wait);
  const first = await tokenOf(id);
  await ada.call('agents.rotate-gateway-token', { id }, wait);
  const second = await tokenOf(id);
  await ada.call('agents.stop', { id }, wait);
  await ada.call('agents.rotate-gateway-token', { id }, { body: { force: true } });
  lie(id, '/secrets', 'error-after');
  await ada.call('agents.start', { id }, wait);
  const third = await tokenOf(id);

  const { id: refused } = await ada.anAgent();
  lie(refused, '/volumes', 'error-before', 422);
  lie(refused, '/volumes', 'error-before', 401);
  await ada.call('agents.provision', { id: refused }, wait);
  await ada.call('agents.delete', { id }, wait);
  return [first, second, third];
};

/** Requests that carry a token and are refused. */
const refusals = async (stack: Stack, ada: ACaller, secrets: string[]): Promise<Reply[]> => {
  const bootstrap = randomToken('bootstrap');
  secrets.push(bootstrap);
  const body = { runtimeId: 'rt_00000000000000000000000000', bootstrapToken: bootstrap, runtimeVersion: '1.0.0' };
  const nobody = stack.nobody();
  const exchange = (sent: unknown) => nobody.call('runtime.bootstrap.exchange', {}, { body: sent });
  const asBearer = (token: string) => new ACaller(stack.url, token);
  return Promise.all([
    exchange(body),
    exchange({ ...body, runtimeVersion: bootstrap }),
    exchange({ ...body, runtimeId: [bootstrap] }),
    exchange({ ...body, bootstrapToken: { text: bootstrap } }),
    exchange(`{"bootstrapToken": "${bootstrap}"`),
    asBearer(bootstrap).call('agents.list'),
    asBearer(bootstrap).call('runtime.auth.status'),
    asBearer(secrets[0] ?? '').call('runtime.auth.status'),
    asBearer(`${ada.token}x`).call('agents.list'),
    ada.call('agents.list', {}, { query: { limit: bootstrap, cursor: bootstrap } }),
    ada.call('agents.update', { id: 'agt_00000000000000000000000000' }, { body: { name: [bootstrap] } }),
    nobody.request('GET', `/no/such/route/${bootstrap}`),
    nobody.request('PATCH', `/api/agents/${bootstrap}`),
  ]);
};

test('no token reaches a history, a log line of any process, a job or the body of an error', async (t) => {
  t.timeout(180_000);
  const stack = await startStack({ api: false, workers: false });
  t.teardown(() => stack.close());
  const settings = { ...stack.env, LOG_LEVEL: 'debug' };
  const programs = ['src/server', 'workers/control', 'workers/host'] as const;
  const processes = await Promise.all(programs.map((program) => startProcess(program, settings)));
  t.teardown(() => Promise.all(processes.map((one) => one.kill())));
  const ada = await stack.user();

  const gatewayTokens = await live(stack, ada);
  t.is(new Set(gatewayTokens).size, 3);
  t.true(
    stack.host.faults().every((fault) => fault.injected > 0),
    'the host was as indiscreet as planned',
  );
  const keys = (stack.env['ENCRYPTION_KEYS'] ?? '').split(':')[1] ?? '';
  const { password } = new URL(stack.env['DATABASE_URL'] ?? '');
  const secrets = [...gatewayTokens, planted, ada.token ?? '', HOST_TOKEN, keys, password];
  const answers = await refusals(stack, ada, secrets);
  t.true(
    answers.every(({ status }) => status >= 400 && status < 500),
    answers.map(({ status }) => status).join(),
  );

  /** Any token of ours counts, also those that this test has never seen (bootstrap, access, refresh). */
  const leakIn = (text: string): string | undefined =>
    /acp_[a-z]+_[0-9A-Za-z]{16,}/.exec(text)?.[0] ?? secrets.find((secret) => secret !== '' && text.includes(secret));
  const assertDiscreet = (what: string, text: string) => {
    const leak = leakIn(text);
    const at = leak === undefined ? -1 : text.indexOf(leak);
    t.is(leak, undefined, `${what}: …${text.slice(Math.max(0, at - 300), at + 300)}…`);
  };

  t.truthy(leakIn(`a ${gatewayTokens[0]}`), 'a leak would be seen');
  const histories = await historiesOf(t, stack);
  t.true(histories.length >= 6 && histories.every((text) => text.includes('agt_')), 'the histories can be read');
  for (const history of histories) assertDiscreet('a history', history);
  await until('the requests are logged', () => processes[0]?.output().includes('agents.gateway-access'));
  for (const one of processes) t.is(await one.stop(), 'exit code 0');
  for (const [index, one] of processes.entries()) {
    t.true(one.output().split('\n').length > 3, 'there is a log');
    assertDiscreet(`the log of ${programs[index]}`, one.output());
  }
  const { rows } = await stack.db.raw<{ rows: { text: string }[] }>('select jobs::text as text from jobs');
  assertDiscreet('the jobs', rows.map(({ text }) => text).join('\n'));
  for (const { body } of answers) {
    // The path that was asked for is told as it came; everything else is ours.
    assertDiscreet('an error', JSON.stringify({ ...body, instance: '' }));
  }
  t.log(
    `${histories.length} histories, ${processes.reduce((sum, one) => sum + one.output().split('\n').length, 0)} log lines, ${answers.length} refusals`,
  );
});
