import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);
const appOf = (id: string): string => `acp-test-${id.replace('agt_', '')}`;

/** Looks every 20 ms until there is something to see. */
const until = async <T>(look: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> => {
  for (let tries = 0; tries < 1_000; tries++) {
    const seen = await look();
    if (seen) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('waited 20 s in vain');
};

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

test('an agent stops and starts again with the same machine and volume', async (t) => {
  const ada = await stack().user();
  const online = await ada.anOnlineAgent();
  const stopped = await ada.call('agents.stop', { id: online.id }, wait);
  t.is(stopped.status, 200);
  t.is(stopped.headers.get('preference-applied'), 'wait=60');
  t.like(stopped.body, { ok: true, agent: { status: 'offline', desiredStatus: 'offline' } });
  t.deepEqual(stack().host.machinesOf(online.id, { state: 'started' }), []);
  const again = await ada.call('agents.stop', { id: online.id });
  t.is(again.status, 200);
  t.is(again.body.job, null);
  const started = await ada.call('agents.start', { id: online.id }, wait);
  t.like(started.body, { ok: true, agent: { status: 'online', hostMachineId: online.hostMachineId } });
  t.is((await ada.call('agents.start', { id: online.id })).body.job, null);
});

test('start and stop of an agent that was never provisioned are refused', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  for (const verb of ['agents.start', 'agents.stop'] as const) {
    const reply = await ada.call(verb, { id });
    t.is(reply.status, 409);
    t.is(reply.body.code, 'agent_not_provisioned');
  }
});

test('a stop during a start supersedes it and ends offline, with nothing left running', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  stack().host.fault({
    match: { method: 'POST', path: `${appOf(id)}/secrets` },
    mode: 'delay',
    delayMs: 1_500,
    times: 1,
  });
  const starting = await ada.call('agents.start', { id });
  const stopping = await ada.call('agents.stop', { id });
  t.is(stopping.status, 202);
  const [started, stopped] = [await ada.finished(starting.body.job), await ada.finished(stopping.body.job)];
  t.is(started.status, 'canceled');
  t.is(started.error?.code, 'superseded');
  t.is(stopped.status, 'succeeded');
  t.like(await ada.agent(id), { status: 'offline', activeJobId: null });
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
});

test('a stop during a provision supersedes it and ends offline, with nothing left running', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const provisioning = await ada.call('agents.provision', { id });
  const stopping = await ada.call('agents.stop', { id });
  await ada.finished(stopping.body.job);
  t.is((await ada.finished(provisioning.body.job)).status, 'canceled');
  t.is((await ada.agent(id)).status, 'offline');
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
});

test('a start during a stop is a conflict that names the job', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  stack().host.fault({
    match: { method: 'POST', path: `/${appOf(id)}.*stop$/` },
    mode: 'delay',
    delayMs: 1_000,
    times: 1,
  });
  const stopping = await ada.call('agents.stop', { id });
  const starting = await ada.call('agents.start', { id });
  t.is(starting.status, 409);
  t.is(starting.body.code, 'operation_in_progress');
  t.is(starting.body.job.id, stopping.body.job.id);
  await ada.finished(stopping.body.job);
});

test('a delete takes everything away, and the agent is a 404 for ever after', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const reply = await ada.call('agents.delete', { id: agent.id }, wait);
  t.is(reply.status, 200);
  t.like(reply.body, { ok: true, job: { status: 'succeeded' } });
  t.is((await ada.call('agents.get', { id: agent.id })).status, 404);
  t.is((await ada.call('agents.start', { id: agent.id })).status, 404);
  t.deepEqual(stack().host.machinesOf(agent.id), []);
  t.deepEqual(stack().host.volumes(appOf(agent.id)), []);
  const jobs = await ada.call('jobs.list', {}, { query: { agentId: agent.id } });
  t.is(jobs.body.jobs.length, 2, 'its jobs can still be read');
  const identities = await stack().db('runtime_identities').where({ agentId: agent.id });
  t.true(identities.every((identity) => identity.status === 'revoked'));
  const tokens = await stack().db('gateway_tokens').where({ agentId: agent.id });
  t.true(tokens.every((token) => token.state === 'retired'));
});

for (const delay of [0, 80, 200, 400, 700, 1_000])
  test(`a delete ${delay} ms into a provision ends with nothing at the host`, async (t) => {
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const provisioning = await ada.call('agents.provision', { id });
    await new Promise((resolve) => setTimeout(resolve, delay));
    const deleting = await ada.call('agents.delete', { id });
    const job = await ada.finished(deleting.body.job);
    t.is(job.status, 'succeeded', JSON.stringify(job));
    const provision = await ada.finished(provisioning.body.job);
    t.true(['canceled', 'succeeded'].includes(provision.status));
    t.deepEqual(stack().host.machinesOf(id), []);
    const app = appOf(id);
    const effects = stack()
      .host.effects()
      .filter((effect) => effect.key === app);
    const balance = (kind: string) =>
      effects.filter((effect) => effect.action === `${kind}.create`).length -
      effects.filter((effect) => effect.action === `${kind}.delete`).length;
    t.is(balance('app'), 0);
    t.deepEqual(stack().host.volumes(app), []);
  });

test('a delete asked twice is one job', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const [first, second] = await Promise.all([ada.call('agents.delete', { id }), ada.call('agents.delete', { id })]);
  t.is(first.body.job.id, second.body.job.id);
  t.is((await ada.finished(first.body.job)).status, 'succeeded');
});

test('a canceled provision undoes what it did and leaves the agent offline', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const app = appOf(id);
  stack().host.fault({ match: { method: 'POST', path: `${app}/secrets` }, mode: 'delay', delayMs: 2_000, times: 1 });
  const { body } = await ada.call('agents.provision', { id });
  await until(async () => (await ada.agent(id)).hostVolumeId);
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
  await until(async () => (await ada.call('jobs.get', { id: body.job.id })).body.step === 'wait until it is ready');
  const machine = await until(() => stack().host.machinesOf(id, { state: 'started' })[0]);
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

test('gateway access opens the gateway on the machine; before it is provisioned there is none', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  t.is((await ada.call('agents.gateway-access', { id })).body.code, 'agent_not_provisioned');
  await ada.call('agents.provision', { id }, wait);
  const { body } = await ada.call('agents.gateway-access', { id });
  const rpc = (token: string) =>
    fetch(`${body.gatewayUrl}/api/v1/admin/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'health' }),
    });
  t.is((await rpc(body.gatewayToken)).status, 200);
  t.is((await rpc('acp_gw_wrong')).status, 401);
});

test('a rotated gateway token replaces the old one when the machine has it', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  const before = (await ada.call('agents.gateway-access', { id })).body.gatewayToken;
  const rotating = await ada.call('agents.rotate-gateway-token', { id });
  t.is(rotating.status, 202);
  t.is(rotating.body.agent.status, 'updating');
  t.is((await ada.finished(rotating.body.job)).status, 'succeeded');
  const after = (await ada.call('agents.gateway-access', { id })).body;
  t.not(after.gatewayToken, before);
  t.is((await ada.agent(id)).status, 'online');
  const ask = (token: string) =>
    fetch(`${after.gatewayUrl}/api/v1/admin/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ method: 'health' }),
    }).then((response) => response.status);
  t.is(await ask(after.gatewayToken), 200);
  t.is(await ask(before), 401);
  const { sealed } = await stack().db('gateway_tokens').where({ agentId: id, state: 'current' }).first();
  t.false(JSON.stringify(sealed).includes(after.gatewayToken));
});

test('the machine has used its runtime token, and the database holds none of it in plain', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const [session] = await stack()
    .db('token_families')
    .whereNull('revokedAt')
    .whereIn('runtimeId', stack().db('runtime_identities').select('id').where({ agentId: agent.id }));
  t.truthy(session?.usedAt, 'the runtime has used its access token');
  t.false(JSON.stringify(session).includes('acp_rat_'));
});
