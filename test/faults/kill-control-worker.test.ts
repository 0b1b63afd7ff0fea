import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { assertNothingLeft, assertOneOfEach } from '../support/host-side.js';
import { type Lane, type Lanes, startLanes } from '../support/lanes.js';
import { seeded } from '../support/seeded.js';
import { until } from '../support/until.js';

const LANES = 4;
let lanes: Lanes;

test.before(async (t) => {
  t.timeout(120_000);
  lanes = await startLanes(LANES, 'control');
});
test.after.always(async (t) => {
  t.timeout(60_000);
  await lanes.close();
});

const random = seeded();
const steps = 6;

/** Waits until the job is where the test wants it; throws when it ended without coming there. */
const reach = async (ada: ACaller, job: Job, isThere: (job: Job) => boolean): Promise<void> => {
  for (;;) {
    const now = (await ada.call('jobs.get', { id: job.id })).body as Job;
    if (isThere(now)) return;
    if (now.finishedAt !== null) throw new Error(`ended too early: ${JSON.stringify(now)}`);
    await sleep(10);
  }
};

const restart = async (lane: Lane): Promise<void> => {
  await lane.killWorker();
  await lane.startWorker();
};

const assertOnline = async (t: ExecutionContext, { stack }: Lane, ada: ACaller, job: Job, context: string) => {
  const ended = await ada.finished(job, 90);
  t.is(ended.status, 'succeeded', `${context}: ${JSON.stringify(ended)}`);
  t.true(
    ended.steps.every((step) => step.status === 'done'),
    context,
  );
  const agent = await ada.agent(job.subject.id);
  t.like(agent, { status: 'online', activeJobId: null, lastError: null }, context);
  assertOneOfEach(t, stack, agent, context);
  await stack.host.killMachine(agent.id);
};

test('the control worker killed in every step of a provision delays it, no more', async (t) => {
  t.timeout(300_000);
  let kills = 0;
  const killIn = async (lane: Lane, step: number): Promise<void> => {
    const ada = await lane.stack.user();
    const { id } = await ada.anAgent();
    const { body } = await ada.call('agents.provision', { id });
    await reach(ada, body.job, (job) => job.steps[step]?.status === 'running' || job.steps[step]?.status === 'done');
    await restart(lane);
    kills++;
    await assertOnline(t, lane, ada, body.job, `killed in step ${step + 1}`);
  };
  await Promise.all(Array.from({ length: steps }, (_, step) => lanes.use((lane) => killIn(lane, step))));
  t.is(kills, steps);
  t.log(`${kills} kills`);
});

/** Waits until a statement of the control worker waits for a lock. */
const heldUp = ({ db }: Lane['stack']): Promise<unknown> =>
  until('the claim waits', () =>
    db('pg_stat_activity')
      .where({ datname: db.raw('current_database()'), applicationName: 'acp-worker-control', waitEventType: 'Lock' })
      .first(),
  );

test('the control worker killed as it claims a job: the job is claimed once, by the next one', async (t) => {
  t.timeout(120_000);
  await lanes.use(async (lane) => {
    const ada = await lane.stack.user();
    const { id } = await ada.anAgent();
    await lane.killWorker(); // so that the lock is there before the claim
    const { body } = await ada.call('agents.provision', { id });
    const lock = await lane.stack.db.transaction();
    await lock.raw('select 1 from jobs where id = ? for update', [body.job.id]);
    await lane.startWorker();
    await heldUp(lane.stack);
    await lane.killWorker();
    await lock.rollback();
    t.is((await ada.call('jobs.get', { id: body.job.id })).body.status, 'queued');
    await lane.startWorker();
    await assertOnline(t, lane, ada, body.job, 'killed in claimJob');
  });
});

test('the control worker killed around the end of a job: it ends once', async (t) => {
  t.timeout(120_000);
  await lanes.use(async (lane) => {
    const ada = await lane.stack.user();
    const { id } = await ada.anAgent();
    const { body } = await ada.call('agents.provision', { id });
    const isThere = (job: Job) => job.steps.length > 0 && job.steps.every((step) => step.status === 'done');
    await reach(ada, body.job, isThere);
    await restart(lane);
    await assertOnline(t, lane, ada, body.job, 'killed at the end');
  });
});

for (const verb of ['start', 'stop', 'delete'] as const)
  test(`the control worker killed in the middle of a ${verb} delays it, no more`, async (t) => {
    t.timeout(300_000);
    const ms = Math.floor(random.next() * 700);
    t.log(`TEST_SEED=${random.seed}: killed after ${ms} ms`);
    await lanes.use(async (lane) => {
      const ada = await lane.stack.user();
      const { id } = await ada.anOnlineAgent();
      if (verb === 'start') await ada.call('agents.stop', { id }, { headers: { prefer: 'wait=60' } });
      const { body } = await ada.call(`agents.${verb}`, { id });
      await sleep(ms);
      await restart(lane);
      const job = await ada.finished(body.job, 90);
      t.is(job.status, 'succeeded', JSON.stringify(job));
      if (verb === 'delete') return assertNothingLeft(t, lane.stack, id, verb);
      const agent = await ada.agent(id);
      t.is(agent.status, verb === 'start' ? 'online' : 'offline');
      assertOneOfEach(t, lane.stack, agent, verb);
      t.is(lane.stack.host.machinesOf(id, { state: 'started' }).length, verb === 'start' ? 1 : 0);
    });
  });
