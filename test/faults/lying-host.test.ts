import test, { type ExecutionContext } from 'ava';
import type { FaultMode } from '../../local/faults.js';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft, assertOneOfEach, hostSideOf } from '../support/host-side.js';

const stack = withStack(test);

/** The host does the work and then says something else. */
const lies = ['error-after', 'reset-after', 'malformed'] as const satisfies FaultMode[];
const wait = { headers: { prefer: 'wait=60' } };

/** The calls that change something, as a pattern that only one agent's match. */
const calls = {
  secrets: (app: string) => `/apps/${app}/secrets$/`,
  volumes: (app: string) => `/apps/${app}/volumes$/`,
  machines: (app: string) => `/apps/${app}/machines$/`,
  update: (app: string) => `/apps/${app}/machines/[^/]+$/`,
  start: (app: string) => `/apps/${app}/machines/[^/]+/start$/`,
  stop: (app: string) => `/apps/${app}/machines/[^/]+/stop$/`,
};
type Call = keyof typeof calls;

/** Lets the host lie to the next `times` such calls of the agent; says afterwards whether it did. */
const lie = (agentId: string, call: Call, mode: FaultMode, times: number): (() => boolean) => {
  const path = `/${calls[call](appNameOf(agentId))}`;
  stack().host.fault({ match: { method: 'POST', path }, mode, times });
  return () =>
    stack()
      .host.faults()
      .some((fault) => fault.match?.path === path && fault.mode === mode && fault.injected === times);
};

const assertOnline = async (t: ExecutionContext, ada: ACaller, id: string, context: string): Promise<Agent> => {
  const agent = await ada.agent(id);
  t.like(agent, { status: 'online', activeJobId: null, lastError: null }, context);
  assertOneOfEach(t, stack(), agent, context);
  return agent;
};

for (const call of ['volumes', 'secrets', 'machines'] as const)
  for (const mode of lies)
    for (const times of [1, 2])
      test(`a provision survives ${mode} at ${call}, ${times} times, with no second resource`, async (t) => {
        t.timeout(120_000);
        const ada = await stack().user();
        const { id } = await ada.anAgent();
        const hasLied = lie(id, call, mode, times);
        const { body } = await ada.call('agents.provision', { id });
        const job = await ada.finished(body.job);
        t.is(job.status, 'succeeded', JSON.stringify(job));
        await assertOnline(t, ada, id, `${mode} at ${call}`);
        // A resource that is found by looking is not asked for again: the second lie waits in vain.
        if (times === 1 || call === 'secrets') t.true(hasLied());
      });

/** One agent lives through all lies at one call, each followed by a life as if nothing had been. */
for (const call of ['secrets', 'update', 'start', 'stop'] as const)
  test(`stop and start survive every lie at ${call}, once and twice, with the same machine`, async (t) => {
    t.timeout(180_000);
    const ada = await stack().user();
    const { id, hostMachineId } = await ada.anOnlineAgent();
    for (const mode of lies)
      for (const times of [1, 2]) {
        const context = `${mode} at ${call}, ${times} times`;
        lie(id, call, mode, times);
        const stopped = await ada.call('agents.stop', { id }, wait);
        t.like(stopped.body, { ok: true, agent: { status: 'offline' } }, context);
        t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), [], context);
        const started = await ada.call('agents.start', { id }, wait);
        t.like(started.body, { ok: true, agent: { status: 'online' } }, `${context}: ${JSON.stringify(started.body)}`);
        t.is((await assertOnline(t, ada, id, context)).hostMachineId, hostMachineId, context);
      }
    t.true(
      stack()
        .host.faults()
        .some((fault) => fault.match?.path?.includes(appNameOf(id)) && fault.injected > 0),
    );
  });

for (const mode of lies)
  test(`a delete survives ${mode}, twice at each of its calls, and nothing is left`, async (t) => {
    t.timeout(120_000);
    const ada = await stack().user();
    const { id } = await ada.anOnlineAgent();
    const app = appNameOf(id);
    for (const path of [`/apps/${app}/machines/[^/]+$/`, `/apps/${app}$/`])
      stack().host.fault({ match: { method: 'DELETE', path: `/${path}` }, mode, times: 2 });
    const { body } = await ada.call('agents.delete', { id });
    const job = await ada.finished(body.job);
    t.is(job.status, 'succeeded', JSON.stringify(job));
    assertNothingLeft(t, stack(), id, mode);
  });

for (const call of ['volumes', 'secrets', 'machines'] as const)
  test(`a provision survives silence after the work at ${call}`, async (t) => {
    t.timeout(180_000);
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const hasLied = lie(id, call, 'timeout-after', 1);
    const { body } = await ada.call('agents.provision', { id });
    t.is((await ada.finished(body.job, 120)).status, 'succeeded');
    t.true(hasLied());
    await assertOnline(t, ada, id, `timeout-after at ${call}`);
  });

test('a rate limit is waited out for as long as the host asks', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const path = `/apps/${appNameOf(id)}/volumes`;
  stack().host.fault({ match: { method: 'POST', path }, mode: 'rate-limit', retryAfter: 4, times: 1 });
  const { body } = await ada.call('agents.provision', { id });
  const job = await ada.finished(body.job);
  t.is(job.status, 'succeeded');
  const step = job.steps.find(({ name }) => name === 'create the volume');
  t.is(step?.attempts, 2);
  t.true(Date.parse(step?.finishedAt ?? '') - Date.parse(step?.startedAt ?? '') >= 4_000, JSON.stringify(step));
  await assertOnline(t, ada, id, 'rate limited');
});

test('a volume made twice whose second one cannot be removed at once: one is left in the end', async (t) => {
  t.timeout(60_000);
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const path = `/apps/${appNameOf(id)}/volumes`;
  stack().host.fault({ match: { method: 'POST', path }, mode: 'twice' });
  const refusal = stack().host.fault({ match: { method: 'DELETE', path }, mode: 'error-before' });
  const { body } = await ada.call('agents.provision', { id }, wait);
  t.like(body, { ok: true, agent: { status: 'online' } }, JSON.stringify(body));
  t.is(refusal.injected(), 1);
  const side = hostSideOf(stack(), id);
  t.is(side.count('volume.create'), 2);
  t.deepEqual(
    side.volumes.map((volume) => volume['id']),
    [body.agent.hostVolumeId],
  );
});

const full = {
  mode: 'error-before',
  status: 422,
  body: { error: 'no room', status: 'insufficient_capacity' },
} as const;

test('a region without room for the volume: the next one is tried, and the machine goes there too', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  stack().host.fault({ match: { method: 'POST', path: `/apps/${appNameOf(id)}/volumes` }, ...full });
  await ada.call('agents.provision', { id }, wait);
  t.is((await assertOnline(t, ada, id, 'no room')).region, 'fra');
  t.is(stack().host.machinesOf(id)[0]?.region, 'fra');
});

/** Provisions in vain; the agent is in error with the job's reason. */
const failing = async (t: ExecutionContext, ada: ACaller, id: string): Promise<Job> => {
  const { body } = await ada.call('agents.provision', { id });
  const job = await ada.finished(body.job);
  t.is(job.status, 'failed', JSON.stringify(job));
  const agent = await ada.agent(id);
  t.like(agent, { status: 'error', activeJobId: null });
  t.like(agent.lastError, { code: job.error?.code, jobId: job.id });
  return job;
};

for (const call of ['volumes', 'machines'] as const)
  test(`no room for ${call} anywhere: the job fails with host_capacity, nothing is left, and a later provision succeeds`, async (t) => {
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const path = `/${calls[call](appNameOf(id))}`;
    stack().host.fault({ match: { method: 'POST', path }, ...full, times: 2 }); // there are two regions
    const job = await failing(t, ada, id);
    t.like(job.error, { code: 'host_capacity', needsOperator: false });
    assertNothingLeft(t, stack(), id, call);
    const again = await ada.call('agents.provision', { id }, wait);
    t.like(again.body, { ok: true, agent: { status: 'online' } });
    t.is(hostSideOf(stack(), id).machines.length, 1);
  });

/** Either one call alone, or all that a provision and its undoing make before they give up. */
for (const [title, pathOf, times] of [
  ['the creation of the volume', (app: string) => `/${calls.volumes(app)}`, 1],
  ['every call', (app: string) => `/apps/${app}`, 2],
] as const)
  test(`a host that refuses our token at ${title}: vendor_misconfigured, an operator's business, and delete leads out`, async (t) => {
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    const path = pathOf(appNameOf(id));
    const method = path.endsWith('$/') ? { method: 'POST' } : {};
    stack().host.fault({ match: { path, ...method }, mode: 'error-before', status: 401, times });
    const job = await failing(t, ada, id);
    t.like(job.error, { code: 'vendor_misconfigured', needsOperator: true });
    const deleted = await ada.call('agents.delete', { id }, wait);
    t.is(deleted.body.job.status, 'succeeded', JSON.stringify(deleted.body));
    assertNothingLeft(t, stack(), id, title);
  });
