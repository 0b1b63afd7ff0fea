import test from 'ava';
import { settleJob } from '../../src/models/settle-job.js';
import { isProblem } from '../support/a-problem.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

test('a rotation that is forced while one runs ends the old token at once', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  await stack().db('agents').update({ status: 'online', hostMachineId: 'm1', gatewayUrl: 'http://x' }).where({ id });
  await stack()
    .db('gateway_tokens')
    .insert({ id: `gwt_${id.slice(4)}`, agentId: id, hash: Buffer.from(id), sealed: '{}', state: 'current' });
  const plain = await ada.call('agents.rotate-gateway-token', { id });
  t.is(plain.status, 202);
  const states = () => stack().db('gateway_tokens').where({ agentId: id }).orderBy('createdAt').pluck('state');
  t.deepEqual(
    (await states()).toSorted((a, b) => a.localeCompare(b)),
    ['current', 'next'],
  );
  const forced = await ada.call('agents.rotate-gateway-token', { id }, { body: { force: true } });
  t.is(forced.body.job.id, plain.body.job.id);
  t.deepEqual(
    (await states()).toSorted((a, b) => a.localeCompare(b)),
    ['current', 'retired'],
  );
  isProblem(
    t,
    await ada.call('agents.rotate-gateway-token', { id }, { body: { force: true } }),
    'operation_in_progress',
    'the new one cannot be ended before the machine has it',
  );
  const audit = await ada.call('audit.list', {}, { query: { subject: id, action: 'gateway_token.rotated' } });
  t.deepEqual(
    audit.body.events.map((event: { after: { force: boolean } }) => event.after.force),
    [true, false],
  );
});

test('an old failure is not retried over what its owner did since', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.delete', { id });
  const error = { code: 'host_unreachable', message: 'away', retryable: true, needsOperator: true };
  await stack().db.transaction((trx) => settleJob(trx, body.job.id, { status: 'failed', error }));
  await stack().db('agents').update({ status: 'offline', lastError: null }).where({ id });
  const retry = await olivia.call('operator.jobs.retry', { id: body.job.id }, { body: { reason: 'try again' } });
  isProblem(t, retry, 'conflict');
  t.is((await ada.agent(id)).status, 'offline');
  const list = await olivia.call('operator.attention.list', {}, { query: { limit: 100 } });
  t.true(
    list.body.attention.some((one: { job: { id: string } }) => one.job.id === body.job.id),
    'it still waits',
  );
});

test('a query that holds NUL, and a client name that could draw on a terminal, are refused', async (t) => {
  const ada = await stack().user();
  isProblem(t, await ada.request('GET', '/api/audit?subject=%00'), 'invalid_request');
  for (const clientName of [
    'two\nlines',
    'a\u009b31m',
    'b\u202ecte',
    '',
    ' ',
    'a\u2028b',
    'a\u200eb',
    'a\ufeffb',
    '\u{e0041}',
  ])
    isProblem(t, await stack().nobody().call('auth.device.start', {}, { body: { clientName } }), 'invalid_request');
});
