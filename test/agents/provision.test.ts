import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import { withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

const stack = withStack(test);
const appOf = (id: string): string => `acp-test-${id.replace('agt_', '')}`;
const wait = { headers: { prefer: 'wait=60' } };

const actions = (agent: Agent) => {
  const mine = new Set<string | null | undefined>([agent.hostAppName, agent.hostVolumeId, agent.hostMachineId]);
  return stack()
    .host.effects()
    .filter((effect) => mine.has(effect.id) || mine.has(effect.key))
    .map((effect) => effect.action);
};

test('a provision gives the agent one app, volume and machine, and ends online (4.5)', async (t) => {
  const ada = await stack().user();
  const created = await ada.anAgent();
  t.is(created.status, 'offline');
  t.is(created.hostAppName, null);
  const reply = await ada.call('agents.provision', { id: created.id });
  t.is(reply.status, 202);
  t.is(reply.headers.get('location'), `/api/jobs/${reply.body.job.id}`);
  t.is(reply.body.agent.status, 'provisioning');
  t.is(reply.body.agent.activeJobId, reply.body.job.id);
  const job = await ada.finished(reply.body.job);
  t.is(job.status, 'succeeded');
  t.true(job.steps.every((step) => step.status === 'done'));
  const agent = await ada.agent(created.id);
  t.like(agent, {
    status: 'online',
    desiredStatus: 'online',
    activeJobId: null,
    lastError: null,
    runtimeVersion: '1.0.0',
  });
  t.deepEqual(
    actions(agent).filter((action) => action.endsWith('.create')),
    ['app.create', 'volume.create', 'machine.create'],
  );
  const [machine] = stack().host.machinesOf(agent.id, { state: 'started' });
  t.is(machine?.id ?? null, agent.hostMachineId);
  const { body } = await ada.call('audit.list', {}, { query: { action: 'runtime.bootstrap_minted' } });
  t.like(body.events, [{ actor: { type: 'user' }, after: { agentId: agent.id, jobId: job.id } }]);
});

test('two provisions at once are one job', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const replies = await Promise.all(Array.from({ length: 8 }, () => ada.call('agents.provision', { id })));
  t.is(new Set(replies.map((reply) => reply.body.job.id)).size, 1);
  t.is(replies.filter((reply) => reply.status === 202).length, 1);
  t.is(replies.filter((reply) => reply.status === 200).length, 7);
  await ada.finished(replies[0]?.body.job);
  t.is(stack().host.machinesOf(id).length, 1);
});

test('a provisioned agent answers a provision with 200 and no job', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const reply = await ada.call('agents.provision', { id });
  t.is(reply.status, 200);
  t.is(reply.body.job, null);
});

test('a canceled provision undoes what it did and leaves the agent offline', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const app = appOf(id);
  stack().host.fault({ match: { method: 'POST', path: `${app}/secrets` }, mode: 'delay', delayMs: 2_000, times: 1 });
  const { body } = await ada.call('agents.provision', { id });
  await until('the volume', async () => (await ada.agent(id)).hostVolumeId ?? undefined);
  const canceling = await ada.call('jobs.cancel', { id: body.job.id });
  t.is(canceling.status, 202);
  const job = await ada.finished(body.job);
  t.is(job.status, 'canceled');
  t.is(job.error?.code, 'canceled');
  t.like(await ada.agent(id), { status: 'offline', desiredStatus: 'offline', hostAppName: null, hostVolumeId: null });
  t.deepEqual(stack().host.volumes(app), []);
  t.true(job.steps.some((step) => step.name === 'undo what was created' && step.status === 'done'));
  t.is((await ada.call('jobs.cancel', { id: body.job.id })).status, 409);
});

test('a machine that never becomes ready leaves the agent in error with its reason; provision and delete lead out', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  stack().host.fault({ match: { path: `/ingress/${appOf(id)}` }, mode: 'down', times: 0 });
  const { body } = await ada.call('agents.provision', { id });
  await until(
    'the wait',
    async () => (await ada.call('jobs.get', { id: body.job.id })).body.step === 'wait until it is ready',
  );
  const machine = await until('the machine', () => stack().host.machinesOf(id, { state: 'started' })[0]);
  await stack().host.killMachine(machine.id, { restart: false });
  const job = await ada.finished(body.job);
  t.is(job.status, 'failed');
  t.is(job.error?.code, 'machine_not_ready');
  const agent = await ada.agent(id);
  t.is(agent.status, 'error');
  t.is(agent.lastError?.code, 'machine_not_ready');
  t.is(agent.lastError?.jobId, job.id);
  stack().host.clearFaults();
  const again = await ada.call('agents.provision', { id }, wait);
  t.like(again.body, { ok: true, agent: { status: 'online', lastError: null, hostMachineId: machine.id } });
  const identities = await stack().db('runtime_identities').where({ agentId: id }).orderBy('generation');
  t.deepEqual(
    identities.map((identity) => identity.status),
    ['revoked', 'active'],
    'what the first attempt could authenticate with is dead',
  );
  const gatewayTokens = await stack().db('gateway_tokens').where({ agentId: id }).orderBy('createdAt').pluck('state');
  t.deepEqual(gatewayTokens, ['retired', 'current']);
  const audit = await ada.call('audit.list', {}, { query: { subject: id, action: 'agent.credentials_revoked' } });
  t.is(audit.body.events.length, 1);
  t.is((await ada.call('agents.delete', { id }, wait)).body.ok, true);
});

test('a provision canceled at any moment leaves nothing, or one of each switched off', async (t) => {
  const tries = Array.from({ length: 16 }, async (_, index) => {
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const { body } = await ada.call('agents.provision', { id });
    await new Promise((resolve) => setTimeout(resolve, index * 150));
    await ada.call('jobs.cancel', { id: body.job.id });
    const job = await ada.finished(body.job);
    const agent = await ada.agent(id);
    const machines = stack().host.machinesOf(id);
    const seen = { job, agent, machines: machines.map((machine) => machine.state) };
    if (job.status === 'succeeded') t.is(agent.status, 'online', JSON.stringify(seen));
    else {
      t.is(job.error?.code, 'canceled', JSON.stringify(seen));
      t.is(agent.status, 'offline', JSON.stringify(seen));
      t.true(
        machines.every((machine) => machine.state === 'stopped'),
        JSON.stringify(seen),
      );
    }
    t.is(agent.hostMachineId, machines[0]?.id ?? null, JSON.stringify(seen));
    t.is(agent.hostAppName, machines[0]?.app_name ?? null, JSON.stringify(seen));
    t.is(stack().host.volumes(appOf(id)).length, machines.length, JSON.stringify(seen));
    return job.status;
  });
  const ended = await Promise.all(tries);
  t.true(ended.includes('canceled'));
  t.log(ended.join(' '));
});
