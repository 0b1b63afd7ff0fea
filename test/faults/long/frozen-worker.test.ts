import test, { type ExecutionContext } from 'ava';
import type { Point } from '../../support/a-host-proxy.js';
import type { Job } from '../../../src/contract/shapes/job.js';
import { assertNothingLeft, assertOneOfEach } from '../../support/host-side.js';
import { type Lane, type Lanes, startLanes } from '../../support/lanes.js';
import { until } from '../../support/until.js';
import { part, someOf } from './share.js';

const LANES = Math.min(6, part(18, 4));
let lanes: Lanes;

test.before(async (t) => {
  t.timeout(120_000);
  lanes = await startLanes(LANES, 'host');
});
test.after.always(async (t) => {
  t.timeout(60_000);
  await lanes.close();
});

interface FreezingPoint extends Point {
  /** The step of the provision that this is a call of. */
  step: string;
}

/** Where the worker freezes: it has looked and would create next, or has created and does not know it. */
const looks: FreezingPoint[] = [
  { step: 'create the volume', call: 'GET /v1/apps/{app}/volumes #1', moment: 'after' },
  { step: 'create the app', call: 'GET /v1/apps/{app} #1', moment: 'after' },
  { step: 'create the machine', call: 'GET /v1/apps/{app}/machines #1', moment: 'after' },
];
const effects: FreezingPoint[] = [
  { step: 'create the volume', call: 'POST /v1/apps/{app}/volumes #1', moment: 'after' },
  { step: 'hand over the credentials', call: 'POST /v1/apps/{app}/secrets #1', moment: 'after' },
  { step: 'create the machine', call: 'POST /v1/apps/{app}/machines #1', moment: 'after' },
];

/** Provisions an agent and freezes the worker at the point. */
const freezeAt = async (lane: Lane, point: Point) => {
  const { stack, proxy } = lane;
  const ada = await stack.user();
  const { id } = await ada.anAgent();
  proxy.record();
  const reached = proxy.holdAt(point);
  const { body } = await ada.call('agents.provision', { id });
  await reached;
  return { ada, id, job: body.job as Job, frozen: await lane.freezeWorker(), began: Date.now() };
};

/** Long past the heartbeat's time-out of 8 s, and short of the 20 s after which the worker would not go on with the late reply. */
const SHORT_MS = 17_000;
/** Until another has surely done the step: tasks that the server hands to the polls of the frozen worker are lost for 8 s each. */
const LONG_MS = 120_000;

const overtaken = async (t: ExecutionContext, lane: Lane, point: FreezingPoint, atMostMs: number) => {
  const { stack } = lane;
  const { ada, id, job, frozen, began } = await freezeAt(lane, point);
  const isDone = async () => {
    const { steps } = (await ada.call('jobs.get', { id: job.id })).body as Job;
    return steps.some((step) => step.name === point.step && step.status === 'done');
  };
  const isOver = async () => ((await isDone()) ? 'done' : Date.now() - began > atMostMs && 'given up');
  const byAnother = await until('the step is overtaken', isOver, LONG_MS / 1_000 + 10);
  const context = `frozen ${point.moment} ${point.call} for ${Date.now() - began} ms, the attempt ${byAnother === 'done' ? 'overtaken' : byAnother}`;
  if (atMostMs === LONG_MS) t.is(byAnother, 'done', context);
  t.is(await frozen.wake(), 'exit code 0', context);
  const ended = await ada.finished(job, 90);
  t.is(ended.status, 'succeeded', `${context}: ${JSON.stringify(ended)}`);
  const agent = await ada.agent(id);
  t.like(agent, { status: 'online', activeJobId: null, lastError: null }, context);
  assertOneOfEach(t, stack, agent, context);
  t.is(stack.host.machinesOf(id, { state: 'started' }).length, 1, context);
  t.log(context);
  await stack.host.killMachine(id);
};

const superseded = async (t: ExecutionContext, lane: Lane, point: FreezingPoint, verb: 'stop' | 'delete') => {
  const { stack } = lane;
  const { ada, id, job, frozen, began } = await freezeAt(lane, point);
  const reply = await ada.call(`agents.${verb}`, { id });
  t.is(reply.status, 202);
  const isEnded = async () => (await ada.call('jobs.get', { id: reply.body.job.id })).body.finishedAt !== null;
  await until('the way is free', async () => Date.now() - began > SHORT_MS || isEnded());
  const context = `frozen ${point.moment} ${point.call} for ${Date.now() - began} ms and superseded by ${verb}`;
  t.is(await frozen.wake(), 'exit code 0', context);
  for (const [one, status] of [
    [job, 'canceled'],
    [reply.body.job as Job, 'succeeded'],
  ] as const) {
    const ended = await ada.finished(one, 120);
    t.is(ended.status, status, `${context}: ${JSON.stringify(ended)}`);
  }
  t.log(context);
  t.deepEqual(stack.host.machinesOf(id, { state: 'started' }), [], context);
  if (verb === 'delete') assertNothingLeft(t, stack, id, context);
  else t.like(await ada.agent(id), { status: 'offline', desiredStatus: 'offline', activeJobId: null }, context);
};

type Case = (t: ExecutionContext, lane: Lane) => Promise<void>;
const cases: Case[] = [
  ...[...looks, ...effects].map(
    (point): Case =>
      (t, lane) =>
        overtaken(t, lane, point, SHORT_MS),
  ),
  ...looks.flatMap((point): Case[] => [
    (t, lane) => superseded(t, lane, point, 'delete'),
    (t, lane) => superseded(t, lane, point, 'stop'),
  ]),
  ...[...effects, ...looks].map(
    (point): Case =>
      (t, lane) =>
        overtaken(t, lane, point, LONG_MS),
  ),
];

test('a worker frozen past its heartbeat comes back, also when stop or delete superseded it: its late results change nothing', async (t) => {
  t.timeout(600_000);
  const chosen = someOf(cases, 4);
  await Promise.all(chosen.map((one) => lanes.use((lane) => one(t, lane))));
  t.log(`${chosen.length} of ${cases.length} cases`);
});
