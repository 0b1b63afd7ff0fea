import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';
import type { Point } from '../support/a-host-proxy.js';
import { appNameOf, assertNothingLeft, assertOneOfEach } from '../support/host-side.js';
import { type Lane, type Lanes, startLanes } from '../support/lanes.js';
import { seeded } from '../support/seeded.js';

const LANES = 8;
const TRIES = 3;
let lanes: Lanes;

test.before(async (t) => {
  t.timeout(120_000);
  lanes = await startLanes(LANES, 'host');
});
test.after.always(async (t) => {
  t.timeout(60_000);
  await lanes.close();
});

/** A provision: what is arranged before it is asked for, and what must have come of it. */
interface Story {
  prepare?: (lane: Lane, agentId: string) => void;
  check: (t: ExecutionContext, lane: Lane, ended: { job: Job; agent: Agent; context: string }) => void;
}

const wellEnding: Story = {
  check: (t, { stack }, { job, agent, context }) => {
    t.is(job.status, 'succeeded', `${context}: ${JSON.stringify(job)}`);
    t.like(agent, { status: 'online', activeJobId: null, lastError: null }, context);
    assertOneOfEach(t, stack, agent, context);
    t.is(stack.host.machinesOf(agent.id, { state: 'started' }).length, 1, context);
  },
};

const refused: Story = {
  prepare: ({ stack }, id) =>
    stack.host.fault({
      match: { method: 'POST', path: `/${appNameOf(id)}/machines$/` },
      mode: 'error-before',
      status: 422,
      times: 0, // in no region
      body: { error: 'no room', status: 'insufficient_capacity' },
    }),
  check: (t, { stack }, { job, agent, context }) => {
    t.is(job.error?.code, 'host_capacity', `${context}: ${JSON.stringify(job)}`);
    t.like(agent, { status: 'error', activeJobId: null, hostAppName: null, hostVolumeId: null }, context);
    t.like(agent.lastError, { code: 'host_capacity', jobId: job.id }, context);
    assertNothingLeft(t, stack, agent.id, context);
  },
};

/** Runs the story and kills the worker at the point, if there is one; whether the story came there, and its calls. */
const run = async (t: ExecutionContext, lane: Lane, story: Story, point?: Point) => {
  const { stack, proxy } = lane;
  const ada = await stack.user();
  const { id } = await ada.anAgent();
  story.prepare?.(lane, id);
  proxy.record();
  const reached = point ? proxy.holdAt(point).then(() => true) : new Promise<never>(() => undefined);
  const { body } = await ada.call('agents.provision', { id });
  const finished = ada.finished(body.job, 90);
  const isReached = await Promise.race([reached, finished.then(() => false)]);
  if (isReached) {
    await lane.killWorker();
    await lane.startWorker();
  }
  const job = await finished;
  const calls = proxy.calls();
  proxy.letGo();
  const context = point ? `killed ${point.moment} ${point.call}` : 'undisturbed';
  story.check(t, lane, { job, agent: await ada.agent(id), context });
  if (stack.host.machinesOf(id).length > 0) await stack.host.killMachine(id);
  return { isReached, calls };
};

/** Kills the worker before and after each of the story's calls, in a provision of its own each. */
const killEverywhere = async (t: ExecutionContext, story: Story, isWanted = (_call: string) => true) => {
  const { calls } = await lanes.use((lane) => run(t, lane, story));
  const points = calls.filter(isWanted).flatMap((call): Point[] => [
    { call, moment: 'before' },
    { call, moment: 'after' },
  ]);
  const missed: string[] = [];
  const killOnce = async (point: Point): Promise<void> => {
    // How often a provision polls differs from run to run: a point that one did not come to is met in another.
    for (let tries = 0; tries < TRIES; tries++)
      if ((await lanes.use((lane) => run(t, lane, story, point))).isReached) return;
    missed.push(`${point.moment} ${point.call}`);
  };
  await Promise.all(points.map(killOnce));
  t.log(`killed at ${points.length - missed.length} of ${points.length} points, before and after each of`);
  t.log(calls.filter(isWanted).join(', '));
  t.deepEqual(missed, []);
  return points.length;
};

test('the host worker killed before and after every call of a provision: one app, volume and machine, and the agent online', async (t) => {
  t.timeout(300_000);
  t.true((await killEverywhere(t, wellEnding)) >= 20);
});

test('the host worker killed while a provision is undone: nothing at the host, and the agent in error with the reason', async (t) => {
  t.timeout(300_000);
  t.is(await killEverywhere(t, refused, (call) => call.startsWith('DELETE')), 6);
});

const random = seeded();
/** Milliseconds after the request, three moments a verb. */
const moments = [0, 300, 600].map((least) => least + Math.floor(random.next() * 300));

for (const verb of ['start', 'stop', 'delete'] as const)
  test(`the host worker killed in the middle of a ${verb} delays it, no more`, async (t) => {
    t.timeout(300_000);
    t.log(`TEST_SEED=${random.seed}: killed after ${moments.join(', ')} ms`);
    await Promise.all(moments.map((ms) => lanes.use((lane) => killAfter(t, lane, verb, ms))));
  });

const killAfter = async (t: ExecutionContext, lane: Lane, verb: 'start' | 'stop' | 'delete', ms: number) => {
  const { stack } = lane;
  const ada = await stack.user();
  const { id, hostMachineId } = await ada.anOnlineAgent();
  if (verb === 'start') await ada.call('agents.stop', { id }, { headers: { prefer: 'wait=60' } });
  const { body } = await ada.call(`agents.${verb}`, { id });
  await sleep(ms);
  await lane.killWorker();
  await lane.startWorker();
  const job = await ada.finished(body.job, 90);
  const context = `${verb} killed after ${ms} ms`;
  t.is(job.status, 'succeeded', `${context}: ${JSON.stringify(job)}`);
  if (verb === 'delete') return assertNothingLeft(t, stack, id, context);
  const agent = await ada.agent(id);
  t.like(agent, { status: verb === 'start' ? 'online' : 'offline', hostMachineId, activeJobId: null }, context);
  assertOneOfEach(t, stack, agent, context);
  t.is(stack.host.machinesOf(id, { state: 'started' }).length, verb === 'start' ? 1 : 0, context);
  await stack.host.killMachine(id);
};
