import test, { type ExecutionContext } from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';
import { atHost } from '../support/at-host.js';
import { appNameOf, assertOneOfEach, hostSideOf } from '../support/host-side.js';
import { until } from '../support/until.js';

// A machine shows as destroyed for half a minute before it is a 404.
const stack = withStack(test, { hostPace: { destroyedShowsMs: 30_000 } });
const wait = { headers: { prefer: 'wait=60' } };

const aStoppedAgent = async (ada: ACaller): Promise<Agent> => {
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  return ada.agent(id);
};

const attemptsOf = (job: Job, name: string): number => job.steps.find((step) => step.name === name)?.attempts ?? 0;

const assertStarts = async (t: ExecutionContext, ada: ACaller, id: string): Promise<Job> => {
  const { body } = await ada.call('agents.start', { id });
  const job = await ada.finished(body.job);
  t.is(job.status, 'succeeded', JSON.stringify(job));
  t.like(await ada.agent(id), { status: 'online', lastError: null });
  t.is(stack().host.machinesOf(id, { state: 'started' }).length, 1);
  return job;
};

test('a machine that shows as destroyed before it is a 404 is replaced, with its volume', async (t) => {
  const ada = await stack().user();
  const { id, hostAppName, hostMachineId, hostVolumeId } = await aStoppedAgent(ada);
  const machine = `/apps/${hostAppName}/machines/${hostMachineId}`;
  await atHost(stack(), 'DELETE', `${machine}?force=true`);
  t.is((await atHost(stack(), 'GET', machine)).state, 'destroyed');
  await assertStarts(t, ada, id);
  const agent = await ada.agent(id);
  t.not(agent.hostMachineId, hostMachineId);
  t.is(agent.hostVolumeId, hostVolumeId);
  t.is((await atHost(stack(), 'GET', machine)).state, 'destroyed', 'it still shows');
});

test('a machine that is still being destroyed is waited for, then replaced', async (t) => {
  const ada = await stack().user();
  const { id, hostAppName, hostMachineId, hostVolumeId } = await aStoppedAgent(ada);
  const machines = `/apps/${hostAppName}/machines`;
  const going = { ...(await atHost(stack(), 'GET', `${machines}/${hostMachineId}`)), state: 'destroying' };
  await atHost(stack(), 'DELETE', `${machines}/${hostMachineId}?force=true`);
  const fault = { mode: 'error-before', status: 200 } as const;
  stack().host.fault({ match: { method: 'GET', path: `/${machines}$/` }, ...fault, body: [going], times: 3 });
  stack().host.fault({
    match: { method: 'GET', path: `/${machines}/${hostMachineId}$/` },
    ...fault,
    body: going,
    times: 3,
  });
  const job = await assertStarts(t, ada, id);
  t.is(attemptsOf(job, 'configure the machine'), 4);
  t.is((await ada.agent(id)).hostVolumeId, hostVolumeId);
  t.is(hostSideOf(stack(), id).count('machine.create'), 2);
});

for (const status of [409, 412])
  test(`a host that answers ${status} while it is busy with the machine is asked again`, async (t) => {
    const ada = await stack().user();
    const { id } = await aStoppedAgent(ada);
    const path = `/apps/${appNameOf(id)}/machines/[^/]+$/`;
    stack().host.fault({ match: { method: 'POST', path: `/${path}` }, mode: 'error-before', status, times: 3 });
    const job = await assertStarts(t, ada, id);
    t.is(attemptsOf(job, 'configure the machine'), 4);
    assertOneOfEach(t, stack(), await ada.agent(id), `${status}`);
  });

test('a version that somebody else made stale meanwhile is read again', async (t) => {
  const ada = await stack().user();
  const { id, hostAppName, hostMachineId } = await aStoppedAgent(ada);
  const machine = `/apps/${hostAppName}/machines/${hostMachineId}`;
  const { config } = await atHost(stack(), 'GET', machine);
  const path = `//apps/${hostAppName}/machines/[^/]+$/`;
  stack().host.fault({ match: { method: 'POST', path }, mode: 'delay', delayMs: 2_000, times: 1 });
  const { body } = await ada.call('agents.start', { id });
  const isUnderWay = () =>
    stack()
      .host.faults()
      .some((fault) => fault.match?.path === path && fault.injected === 1);
  await until('the update is on its way', isUnderWay);
  await atHost(stack(), 'POST', machine, { config });
  const job = await ada.finished(body.job);
  t.is(job.status, 'succeeded', JSON.stringify(job));
  t.true(attemptsOf(job, 'configure the machine') >= 2);
  assertOneOfEach(t, stack(), await ada.agent(id), 'stale');
});

for (const status of [412, 422])
  test(`secrets that the host does not know yet (${status}) are waited for`, async (t) => {
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const body = { error: 'failed_precondition: secrets version 1 is not yet available', status: 'unknown' };
    const path = `/${appNameOf(id)}/machines$/`;
    stack().host.fault({ match: { method: 'POST', path }, mode: 'error-before', status, body, times: 3 });
    const job = await ada.finished((await ada.call('agents.provision', { id })).body.job);
    t.is(job.status, 'succeeded', JSON.stringify(job));
    t.is(attemptsOf(job, 'create the machine'), 4);
    assertOneOfEach(t, stack(), await ada.agent(id), 'lag');
  });

test.serial('a machine runs with its new secrets though they arrive late', async (t) => {
  const ada = await stack().user();
  const { id } = await aStoppedAgent(ada);
  stack().host.knobs.secretsLagMs = 3_000;
  try {
    const job = await assertStarts(t, ada, id);
    t.true(attemptsOf(job, 'configure the machine') >= 2, JSON.stringify(job.steps));
  } finally {
    stack().host.knobs.secretsLagMs = 0;
  }
});

const full = (body = 'insufficient_capacity') =>
  ({ mode: 'error-before', status: 422, body: { error: 'no room', status: body } }) as const;

test('no room for a new machine where its volume is: both are made in the next region', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  stack().host.fault({ match: { method: 'POST', path: `/${appNameOf(id)}/machines$/` }, ...full(), times: 1 });
  const { body } = await ada.call('agents.provision', { id }, wait);
  t.like(body, { ok: true, agent: { status: 'online', region: 'fra' } }, JSON.stringify(body.job));
  const side = hostSideOf(stack(), id);
  t.deepEqual([side.count('volume.create'), side.count('volume.delete'), side.volumes.length], [2, 1, 1]);
  t.like(side.volumes[0], { id: body.agent.hostVolumeId, region: 'fra' });
  t.deepEqual([side.machines.length, side.machines[0]?.region], [1, 'fra']);
});

test('an attempt that breaks off on the way to the next region goes on there', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const app = appNameOf(id);
  stack().host.fault({ match: { method: 'POST', path: `/${app}/machines$/` }, ...full(), times: 1 });
  stack().host.fault({ match: { path: `/${app}/secrets` }, mode: 'delay', delayMs: 1_500, times: 1 });
  const { body } = await ada.call('agents.provision', { id });
  await until('the first volume is there', async () => (await ada.agent(id)).hostVolumeId !== null);
  stack().host.fault({ match: { method: 'POST', path: `/${app}/volumes$/` }, mode: 'error-before', times: 1 });
  const job = await ada.finished(body.job);
  t.is(job.status, 'succeeded', JSON.stringify(job));
  t.is(attemptsOf(job, 'create the machine'), 2);
  const agent = await ada.agent(id);
  t.like(agent, { status: 'online', region: 'fra' });
  t.deepEqual(
    hostSideOf(stack(), id).volumes.map((volume) => [volume['id'], volume['region']]),
    [[agent.hostVolumeId, 'fra']],
  );
});

test('no room for a machine whose data is in that region: host_capacity, the data stays, a start or a delete leads out', async (t) => {
  const ada = await stack().user();
  const { id, hostAppName, hostMachineId, hostVolumeId } = await aStoppedAgent(ada);
  await atHost(stack(), 'DELETE', `/apps/${hostAppName}/machines/${hostMachineId}?force=true`);
  const path = `/${hostAppName}/machines$/`;
  stack().host.fault({ match: { method: 'POST', path }, ...full(), times: 1 });
  const job = await ada.finished((await ada.call('agents.start', { id })).body.job);
  t.like(job.error, { code: 'host_capacity', retryable: true, needsOperator: false });
  t.regex(job.error?.message ?? '', /no room .* later, or delete it/);
  const { error } = await stack().db('jobs').where({ id: job.id }).first<{ error: { message: string } }>();
  t.regex(error.message, /no room .* in ams, where its data is/, 'what operators and logs have');
  t.like(await ada.agent(id), { status: 'error', region: 'ams', hostVolumeId, lastError: { code: 'host_capacity' } });
  t.deepEqual(
    hostSideOf(stack(), id).volumes.map((volume) => volume['id']),
    [hostVolumeId],
  );
  await assertStarts(t, ada, id);
  t.is((await ada.agent(id)).hostVolumeId, hostVolumeId);
  t.is((await ada.call('agents.delete', { id }, wait)).body.ok, true);
});

test('no room to start a machine that is there: host_capacity, and a later start succeeds', async (t) => {
  const ada = await stack().user();
  const { id, hostMachineId } = await aStoppedAgent(ada);
  stack().host.fault({
    match: { method: 'POST', path: `/${appNameOf(id)}/machines/[^/]+/start$/` },
    ...full(),
    times: 1,
  });
  const job = await ada.finished((await ada.call('agents.start', { id })).body.job);
  t.like(job.error, { code: 'host_capacity', needsOperator: false });
  await assertStarts(t, ada, id);
  t.is((await ada.agent(id)).hostMachineId, hostMachineId);
});
