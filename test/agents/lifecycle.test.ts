import test from 'ava';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);
const appOf = (id: string): string => `acp-test-${id.replace('agt_', '')}`;

const wait = { headers: { prefer: 'wait=60' } };

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
