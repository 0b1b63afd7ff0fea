import test from 'ava';
import { AgentStatus } from '../../src/contract/shapes/agent.js';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft } from '../support/host-side.js';
import { until } from '../support/until.js';

const stack = withStack(test);
const wait = { headers: { prefer: 'wait=60' } };

/** Holds up the host's answers to the calls of one agent, so that a job stays in the middle. */
const slow = (id: string, path: string) =>
  stack().host.fault({ match: { path: `/${appNameOf(id)}${path}/` }, mode: 'delay', delayMs: 1_500, times: 1 });

/** How an agent gets into each of its states. */
const into: Record<AgentStatus, (ada: ACaller) => Promise<string>> = {
  offline: async (ada) => (await ada.anAgent()).id,
  provisioning: async (ada) => {
    const { id } = await ada.anAgent();
    slow(id, '.*secrets$');
    await ada.call('agents.provision', { id });
    return id;
  },
  online: async (ada) => (await ada.anOnlineAgent()).id,
  stopping: async (ada) => {
    const { id } = await ada.anOnlineAgent();
    slow(id, '.*stop$');
    await ada.call('agents.stop', { id });
    return id;
  },
  starting: async (ada) => {
    const { id } = await ada.anOnlineAgent();
    await ada.call('agents.stop', { id }, wait);
    slow(id, '.*secrets$');
    await ada.call('agents.start', { id });
    return id;
  },
  updating: async (ada) => {
    const { id } = await ada.anOnlineAgent();
    slow(id, '.*secrets$');
    await ada.call('agents.rotate-gateway-token', { id });
    return id;
  },
  error: async (ada) => {
    const { id } = await ada.anOnlineAgent();
    await ada.call('agents.stop', { id }, wait);
    stack().host.fault({
      match: { method: 'POST', path: `/${appNameOf(id)}.*secrets$/` },
      mode: 'error-before',
      status: 422,
      times: 1,
    });
    await ada.call('agents.start', { id }, wait);
    return id;
  },
  deleting: async (ada) => {
    const { id } = await ada.anOnlineAgent();
    slow(id, '');
    await ada.call('agents.delete', { id });
    return id;
  },
};

for (const status of AgentStatus.options)
  test(`an agent that is ${status} is deleted, with all that is at the host and all its tokens`, async (t) => {
    t.timeout(120_000);
    const ada = await stack().user();
    const id = await into[status](ada);
    t.is((await ada.agent(id)).status, status);
    const { body } = await ada.call('agents.delete', { id }, wait);
    t.is(body.job.status, 'succeeded', JSON.stringify(body));
    t.is((await ada.call('agents.get', { id })).status, 404);
    assertNothingLeft(t, stack(), id, 'deleted');
    const { db } = stack();
    const runtimeIds = db('runtime_identities').select('id').where({ agentId: id });
    t.deepEqual(await db('token_families').whereIn('runtimeId', runtimeIds).whereNull('revokedAt'), []);
    t.deepEqual(await db('gateway_tokens').where({ agentId: id }).whereNot({ state: 'retired' }), []);
    t.deepEqual(await db('bootstrap_tokens').whereIn('runtimeId', runtimeIds), []);
    const unfinished = await until('its other jobs have ended', async () => {
      const { jobs } = (await ada.call('jobs.list', {}, { query: { agentId: id } })).body;
      return (jobs as { finishedAt: string | null }[]).every(({ finishedAt }) => finishedAt !== null);
    });
    t.true(unfinished);
  });

test('a start that is canceled shows how it was undone, and leaves the machine off', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  slow(id, '.*secrets$');
  const { body } = await ada.call('agents.start', { id });
  t.true(body.job.cancelable);
  await until(
    'it is under way',
    async () => (await ada.call('jobs.get', { id: body.job.id })).body.status === 'running',
  );
  t.is((await ada.call('jobs.cancel', { id: body.job.id })).status, 202);
  const job = await ada.finished(body.job);
  t.like(job, { status: 'canceled', error: { code: 'canceled' } });
  const undone = job.steps.filter(({ name }) => ['stop the machine', 'wait until it stands still'].includes(name));
  t.deepEqual(
    undone.map(({ status }) => status),
    ['done', 'done'],
  );
  t.like(await ada.agent(id), { status: 'offline', desiredStatus: 'offline', activeJobId: null });
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
});

test('what cannot be canceled says so', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  for (const verb of ['agents.rotate-gateway-token', 'agents.stop', 'agents.delete'] as const) {
    slow(id, '');
    const { body } = await ada.call(verb, { id });
    t.false(body.job.cancelable, verb);
    const refused = await ada.call('jobs.cancel', { id: body.job.id });
    t.is(refused.status, 409, verb);
    t.is(refused.body.code, 'conflict', verb);
    t.is((await ada.finished(body.job)).status, 'succeeded', verb);
  }
});
