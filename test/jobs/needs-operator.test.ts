import test from 'ava';
import { needsOperator } from '../../src/rules/needs-operator.js';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf } from '../support/host-side.js';

// Retries of a step end after 14 s instead of 8 min, those of an undoing after 11 s instead of 6 min.
const stack = withStack(test, { env: { JOB_PATIENCE: '0.03' } });
const wait = { headers: { prefer: 'wait=60' } };

const isOnTheList = async (jobId: string): Promise<boolean> => {
  const olivia = await stack().user(undefined, { role: 'operator' });
  const { body } = await olivia.call('operator.attention.list', {}, { query: { limit: 100 } });
  return body.attention.some((one: { job: { id: string } }) => one.job.id === jobId);
};

/** The job of this call when it has failed, and whether it waits for an operator. */
const failing = async (ada: ACaller, verb: 'provision' | 'start' | 'delete', id: string) => {
  const { body } = await ada.call(`agents.${verb}`, { id });
  const job = await ada.finished(body.job, 90);
  if (job.status !== 'failed') throw new Error(`it did not fail: ${JSON.stringify(job)}`);
  return { ...job.error, isOnTheList: await isOnTheList(job.id) };
};

test('a deletion that fails is an operator’s, whatever the code', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const path = `//apps/${appNameOf(id)}$/`;
  stack().host.fault({ match: { method: 'DELETE', path }, mode: 'error-before', status: 422, times: 1 });
  t.like(await failing(ada, 'delete', id), { code: 'upstream_failed', needsOperator: true, isOnTheList: true });
  t.is((await ada.agent(id)).status, 'error');
  t.is((await ada.call('agents.delete', { id }, wait)).body.ok, true, 'and the owner may ask again');
});

test.serial('what was begun and cannot be undone is an operator’s', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const path = `/apps/${appNameOf(id)}`;
  stack().host.fault({ match: { path: `/${path}/machines$/`, method: 'POST' }, mode: 'error-before', status: 400 });
  stack().host.fault({ match: { path, method: 'DELETE' }, mode: 'error-before', status: 500, times: 0 });
  const error = await failing(ada, 'provision', id);
  t.like(error, { code: 'upstream_failed', needsOperator: true, isOnTheList: true });
  const { body } = await ada.call('jobs.list', {}, { query: { agentId: id } });
  t.like(
    body.jobs[0].steps.find((step: { name: string }) => step.name === 'undo what was created'),
    { status: 'failed' },
  );
  stack().host.clearFaults();
});

test('a request of ours that the host refuses is an operator’s, though all was undone', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const path = `/${appNameOf(id)}/machines$/`;
  stack().host.fault({ match: { path, method: 'POST' }, mode: 'error-before', status: 400 });
  t.like(await failing(ada, 'provision', id), { code: 'upstream_failed', needsOperator: true, isOnTheList: true });
});

test('a fault of our own is an operator’s when it lasts past all tries', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  const [token] = await stack().db('gateway_tokens').where({ agentId: id, state: 'current' });
  await stack().db('gateway_tokens').where({ id: token.id }).update({ sealed: '{}' });
  t.like(await failing(ada, 'start', id), { code: 'internal', needsOperator: true, isOnTheList: true });
  await stack()
    .db('gateway_tokens')
    .where({ id: token.id })
    .update({ sealed: JSON.stringify(token.sealed) });
  t.like((await ada.call('agents.start', { id }, wait)).body, { ok: true, agent: { status: 'online' } });
});

test('data that is gone is an operator’s, and no other try is promised', async (t) => {
  const ada = await stack().user();
  const { id, hostAppName, hostMachineId, hostVolumeId } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  const as = { method: 'DELETE', headers: { authorization: `Bearer ${stack().env['HOST_API_TOKEN']}` } };
  const app = `${stack().host.url}/v1/apps/${hostAppName}`;
  t.is((await fetch(`${app}/machines/${hostMachineId}?force=true`, as)).status, 200);
  t.is((await fetch(`${app}/volumes/${hostVolumeId}`, as)).status, 200);
  t.like(await failing(ada, 'start', id), {
    code: 'conflict',
    retryable: false,
    needsOperator: true,
    isOnTheList: true,
  });
});

test.serial('what another start repairs is its owner’s', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  stack().host.fault({ match: { path: `/ingress/${appNameOf(id)}` }, mode: 'down' });
  const error = await failing(ada, 'provision', id);
  t.like(error, { code: 'machine_not_ready', retryable: true, needsOperator: false, isOnTheList: false });
  stack().host.clearFaults();
  t.like((await ada.call('agents.start', { id }, wait)).body, { ok: true, agent: { status: 'online' } });
});

test('the rule, code by code', (t) => {
  const decided = (code: Parameters<typeof needsOperator>[0]['code'], facts = {}): boolean =>
    needsOperator({ kind: 'agent.start', code, isFinal: false, isNotUndone: false, ...facts });
  const owners = [
    'host_capacity',
    'host_unreachable',
    'machine_not_ready',
    'deadline_exceeded',
    'outcome_unknown',
    'conflict',
    'not_found',
    'operation_in_progress',
    'upstream_failed',
    'unavailable',
  ] as const;
  for (const code of owners) t.false(decided(code), code);
  for (const code of ['vendor_misconfigured', 'internal'] as const) t.true(decided(code), code);
  for (const code of ['conflict', 'upstream_failed'] as const) t.true(decided(code, { isFinal: true }), code);
  for (const code of ['host_capacity', 'machine_not_ready', 'not_found'] as const)
    t.false(decided(code, { isFinal: true }));
  for (const code of owners) {
    t.true(decided(code, { isNotUndone: true }), code);
    t.true(decided(code, { kind: 'agent.delete' }), code);
  }
});
