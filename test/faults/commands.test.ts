import test from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import { assertUnknown, command, execs, hasBegun, linesOf } from '../support/a-command.js';
import { startProcess } from '../support/a-process.js';
import { startStack } from '../support/a-stack.js';
import { type Lanes, startLanes } from '../support/lanes.js';
import { until } from '../support/until.js';

let lanes: Lanes;

test.before(async (t) => {
  t.timeout(120_000);
  lanes = await startLanes(2, 'host');
});
test.after.always(async (t) => {
  t.timeout(60_000);
  await lanes.close();
});

test('the host worker killed while a command runs: it ran once, and ends outcome_unknown within the heartbeat', async (t) => {
  t.timeout(120_000);
  await lanes.use(async (lane) => {
    const ada = await lane.stack.user();
    const agent = await ada.anOnlineAgent();
    const { body } = await command(ada, agent, 12);
    await hasBegun(lane.stack, agent);
    const since = Date.now();
    await lane.killWorker();
    await lane.startWorker();
    const job = await ada.finished(body.job);
    const seconds = (Date.parse(job.finishedAt ?? '') - since) / 1_000;
    await assertUnknown(t, lane.stack, ada, agent, job, 'killed');
    t.true(seconds < 20, `ended ${seconds} s after the kill`);
    await until('the command is over', async () => (await linesOf(lane.stack, agent)).includes('over'));
    t.deepEqual(await linesOf(lane.stack, agent), ['ran', 'over'], 'the machine went on with it, once');
    t.is(execs(lane.stack, agent), 1);
    t.log(`ended ${seconds} s after the kill`);
  });
});

for (const moment of ['before', 'after'] as const)
  test(`the host worker killed just ${moment} the host has done it: never twice`, async (t) => {
    t.timeout(120_000);
    await lanes.use(async (lane) => {
      const ada = await lane.stack.user();
      const agent = await ada.anOnlineAgent();
      lane.proxy.record();
      const reached = lane.proxy.holdAt({ call: 'POST /v1/apps/{app}/machines/{machine}/exec #1', moment });
      const { body } = await command(ada, agent, 0);
      await reached;
      await lane.killWorker();
      await lane.startWorker();
      const job = await ada.finished(body.job);
      await assertUnknown(t, lane.stack, ada, agent, job, moment);
      t.is(execs(lane.stack, agent), moment === 'before' ? 0 : 1, 'nobody can know which');
    });
  });

test('the host worker killed before it has taken a command: another one runs it, once', async (t) => {
  t.timeout(120_000);
  await lanes.use(async (lane) => {
    const ada = await lane.stack.user();
    const agent = await ada.anOnlineAgent();
    await lane.killWorker();
    const { body } = await command(ada, agent, 0);
    await lane.startWorker();
    t.is((await ada.finished(body.job)).status, 'succeeded');
    t.deepEqual(await linesOf(lane.stack, agent), ['ran', 'over']);
  });
});

test('a database that breaks off as a command ends: what it said is kept when it is back', async (t) => {
  t.timeout(120_000);
  await lanes.use(async ({ stack: own }) => {
    const ada = await own.user();
    const agent = await ada.anOnlineAgent();
    const job = (await command(ada, agent, 1)).body.job as Job;
    await hasBegun(own, agent);
    const trx = await own.db.transaction();
    await trx('jobs').where({ id: job.id }).select('id').forUpdate();
    const { rows } = await trx.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid');
    const breakOff = async (): Promise<boolean> =>
      (
        await own.db.raw<{ rows: unknown[] }>(
          'select pg_terminate_backend(pid) from pg_stat_activity where ? = any(pg_blocking_pids(pid))',
          [rows[0]?.pid ?? 0],
        )
      ).rows.length > 0;
    await until('the result is about to be written', breakOff);
    await until('it is tried again', breakOff);
    await trx.rollback();
    t.like(await ada.finished(job), { status: 'succeeded', result: { exitCode: 0, stdout: '' } });
    t.deepEqual(await linesOf(own, agent), ['ran', 'over']);
  });
});

test('a host worker told to stop gives up a long command as unknown', async (t) => {
  t.timeout(120_000);
  const own = await startStack({ workers: ['control'] });
  t.teardown(() => own.close());
  const worker = await startProcess('workers/host', own.env);
  t.teardown(() => worker.kill());
  const ada = await own.user();
  const agent = await ada.anOnlineAgent();
  const { body } = await command(ada, agent, 50, 60);
  await hasBegun(own, agent);
  const stopped = worker.stop();
  const job = await ada.finished(body.job);
  await assertUnknown(t, own, ada, agent, job, 'stopped');
  t.is(await stopped, 'exit code 0');
  t.is(execs(own, agent), 1);
});
