import { Client, Connection, type WorkflowExecutionDescription } from '@temporalio/client';
import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import { settleJob } from '../../src/models/settle-job.js';
import type { ACaller } from '../support/a-caller.js';
import { aPass, passesUntil } from '../support/a-pass.js';
import { withStack } from '../support/a-stack.js';
import { atHost } from '../support/at-host.js';
import { appNameOf, assertNothingLeft } from '../support/host-side.js';
import { until } from '../support/until.js';

// Where what was wished, what was done and what the host shows have come apart.
const stack = withStack(test);
const wait = { headers: { prefer: 'wait=60' } };
test.afterEach.always(() => stack().host.clearFaults());

const machineOf = ({ hostAppName, hostMachineId }: Agent): string => `/apps/${hostAppName}/machines/${hostMachineId}`;
const is = (ada: ACaller, id: string, status: string) => async () => (await ada.agent(id)).status === status;
const workflowOf = async (workflowId: string): Promise<WorkflowExecutionDescription> => {
  const connection = await Connection.connect({ address: stack().env['TEMPORAL_ADDRESS'] ?? '' });
  try {
    return await new Client({ connection }).workflow.getHandle(workflowId).describe();
  } finally {
    await connection.close();
  }
};
const refuse = (id: string, path: string, status = 422) =>
  stack().host.fault({ match: { path: `//apps/${appNameOf(id)}${path}/` }, mode: 'error-before', status, times: 0 });

test.serial(
  'a machine that was started at the host and stops again leaves its agent offline, as it was wished',
  async (t) => {
    const ada = await stack().user();
    const agent = await ada.anOnlineAgent();
    await ada.call('agents.stop', { id: agent.id }, wait);
    await atHost(stack(), 'POST', `${machineOf(agent)}/start`);
    await passesUntil(stack(), is(ada, agent.id, 'online'));
    await atHost(stack(), 'POST', `${machineOf(agent)}/stop`);
    await passesUntil(stack(), is(ada, agent.id, 'offline'));
    t.like((await ada.call('agents.start', { id: agent.id }, wait)).body, { ok: true, agent: { status: 'online' } });
  },
);

test.serial('a start that was canceled and could not be undone is switched off by a retry, not started', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const agent = await ada.anOnlineAgent();
  const { id } = agent;
  await ada.call('agents.stop', { id }, wait);
  stack().host.fault({ match: { path: `/ingress/${appNameOf(id)}` }, mode: 'down' });
  refuse(id, '.*stop$');
  const { body } = await ada.call('agents.start', { id });
  await until(
    'it waits',
    async () => (await ada.call('jobs.get', { id: body.job.id })).body.step === 'wait until it is ready',
  );
  await ada.call('jobs.cancel', { id: body.job.id });
  const job = await ada.finished(body.job);
  t.like(job, { status: 'failed', error: { code: 'canceled', needsOperator: true } });
  t.like(await ada.agent(id), { status: 'error', desiredStatus: 'offline' });
  stack().host.clearFaults();
  const retry = await olivia.call(
    'operator.jobs.retry',
    { id: job.id },
    { body: { reason: 'the host is well again' } },
  );
  t.is(retry.body.job?.kind, 'agent.stop', JSON.stringify(retry.body));
  t.is((await ada.finished(retry.body.job)).status, 'succeeded');
  t.like(await ada.agent(id), { status: 'offline', desiredStatus: 'offline', lastError: null });
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
});

test.serial('a deletion that failed does not come back to life with its machine, and a retry ends it', async (t) => {
  const [ada, olivia] = [await stack().user(), await stack().user(undefined, { role: 'operator' })];
  const agent = await ada.anOnlineAgent();
  const { id } = agent;
  const refused = stack().host.fault({
    match: { method: 'DELETE', path: `//apps/${appNameOf(id)}.*$/` },
    mode: 'error-before',
    status: 422,
    times: 0,
  });
  t.truthy(refused);
  const failed = await ada.finished((await ada.call('agents.delete', { id })).body.job);
  t.like(
    failed,
    { status: 'failed', error: { needsOperator: true } },
    JSON.stringify([failed.steps, stack().host.faults?.()]),
  );
  stack().host.clearFaults();
  await atHost(stack(), 'POST', `${machineOf(agent)}/restart`).catch(() => undefined);
  for (let passes = 0; passes < 3; passes++) await aPass(stack());
  t.like(await ada.agent(id), { status: 'error', desiredStatus: 'deleted' });
  const retry = await olivia.call(
    'operator.jobs.retry',
    { id: failed.id },
    { body: { reason: 'the host is well again' } },
  );
  t.is(retry.status, 202, JSON.stringify(retry.body));
  t.is((await ada.finished(retry.body.job)).status, 'succeeded');
  assertNothingLeft(t, stack(), id, 'retried');
});

test.serial('a stop switches off the machine that the host has moved', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const { config, region } = await atHost(stack(), 'GET', machineOf(agent));
  await atHost(stack(), 'DELETE', `${machineOf(agent)}?force=true`);
  const { id: movedId } = await atHost(stack(), 'POST', `/apps/${agent.hostAppName}/machines`, {
    name: agent.hostAppName,
    region,
    config,
  });
  await until('it runs', () => stack().host.machinesOf(agent.id, { state: 'started' }).length === 1);
  const { body } = await ada.call('agents.stop', { id: agent.id }, wait);
  t.like(body, { ok: true, agent: { status: 'offline', hostMachineId: movedId } }, JSON.stringify(body.job));
  t.deepEqual(stack().host.machinesOf(agent.id, { state: 'started' }), []);
});

test.serial('a host that refuses to show an app has not said that it is gone', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  stack().host.fault({
    match: { method: 'GET', path: `//apps/${appNameOf(id)}$/` },
    mode: 'error-before',
    status: 403,
    times: 0,
  });
  const failed = await ada.finished((await ada.call('agents.delete', { id })).body.job);
  t.like(failed, { status: 'failed', error: { code: 'vendor_misconfigured', needsOperator: true } });
  stack().host.clearFaults();
  t.is((await ada.finished((await ada.call('agents.delete', { id })).body.job)).status, 'succeeded');
  assertNothingLeft(t, stack(), id, 'deleted');
});

test.serial(
  'a token rotated on a machine that runs against its owner’s wish leaves the agent online, as it is',
  async (t) => {
    const ada = await stack().user();
    const agent = await ada.anOnlineAgent();
    const { id } = agent;
    refuse(id, '.*stop$');
    t.is((await ada.finished((await ada.call('agents.stop', { id })).body.job)).status, 'failed');
    stack().host.clearFaults();
    const rotated = await ada.call('agents.rotate-gateway-token', { id }, wait);
    t.like(
      rotated.body,
      { ok: true, agent: { status: 'online', desiredStatus: 'offline' } },
      JSON.stringify(rotated.body.job),
    );
    t.like((await ada.call('agents.stop', { id }, wait)).body, { ok: true, agent: { status: 'offline' } });
  },
);

test.serial('a job that was settled while it waited for the agent does not begin', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  stack().host.fault({
    match: { method: 'POST', path: `/${appNameOf(id)}/secrets` },
    mode: 'delay',
    delayMs: 4_000,
    times: 1,
  });
  const starting = (await ada.call('agents.start', { id })).body.job;
  await until('it is under way', async () => (await ada.call('jobs.get', { id: starting.id })).body.step !== null);
  const stopping = (await ada.call('agents.stop', { id })).body.job;
  await until(
    'the stop waits',
    async () => (await ada.call('jobs.get', { id: stopping.id })).body.status === 'running',
  );
  const error = { code: 'deadline_exceeded', message: 'settled', retryable: true, needsOperator: true };
  await stack().db.transaction((trx) => settleJob(trx, stopping.id, { status: 'failed', error }));
  await ada.finished(starting);
  const stops = () =>
    stack()
      .host.effects()
      .filter((effect) => effect.action === 'machine.stop' && effect.key === appNameOf(id)).length;
  const before = stops();
  await until('its workflow has closed', async () => {
    const { status } = await workflowOf(stopping.workflowId);
    return status.name !== 'RUNNING';
  });
  t.is(stops(), before);
  t.is((await stack().db('agents').where({ id }).first()).holderJobId, null);
});
