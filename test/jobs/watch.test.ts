import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { type Db, makeDb } from '../../src/db/knex.js';
import { JobWatch } from '../../src/jobs/watch.js';
import type { Job } from '../../src/models/job.js';
import { newId } from '../../src/models/new-id.js';
import { makeLog } from '../../src/telemetry/log.js';
import { aDatabase } from '../support/a-database.js';
import { until } from '../support/until.js';

interface Watched {
  db: Db;
  watch: JobWatch;
  /** Queries of the watch so far. */
  reads: () => number;
  touch(jobId: string, step?: string): Promise<void>;
  aJob(): Promise<string>;
  listening(): Promise<number>;
}

const withWatch = async (work: (watched: Watched) => Promise<void>): Promise<void> => {
  const database = await aDatabase();
  const db = makeDb({ url: database.url, name: 'acp-test' });
  const readers = makeDb({ url: database.url, max: 2, name: 'acp-test-readers' });
  let reads = 0;
  readers.on('query', () => reads++);
  const watch = new JobWatch(readers, database.url, makeLog('test', 'silent'));
  watch.start();
  const userId = newId('user');
  await db('users').insert({ id: userId, issuer: 'i', subject: 's', email: '', name: '' });
  const listening = async () => {
    const { rows } = await db.raw<{ rows: { pid: number }[] }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'acp-watch'`,
    );
    return rows.length;
  };
  await until('LISTEN', async () => (await listening()) > 0);
  try {
    await work({
      db,
      watch,
      reads: () => reads,
      touch: async (jobId, step = newId('job')) => void (await db('jobs').update({ step }).where({ id: jobId })),
      aJob: async () => {
        const id = newId('job');
        await db('jobs').insert({
          id,
          kind: 'agent.start',
          userId,
          subjectType: 'agent',
          subjectId: 'x',
          requestedByType: 'user',
          requestedById: userId,
          workflowId: id,
        });
        return id;
      },
      listening,
    });
  } finally {
    await watch.close();
    await readers.destroy();
    await db.destroy();
    await database.drop();
  }
};

test('any number of watchers share one connection, and one read for each change', async (t) => {
  await withWatch(async ({ watch, aJob, touch, reads, listening }) => {
    const jobId = await aJob();
    const seen = Array.from({ length: 200 }, () => [] as Job[]);
    for (const jobs of seen) watch.watch(jobId, (job) => void jobs.push(job));
    await until('the first look', () => seen.every((jobs) => jobs.length > 0));
    const before = reads();
    await touch(jobId, 'second');
    await until('the change', () => seen.every((jobs) => jobs.at(-1)?.step === 'second'));
    t.true(reads() - before <= 2, `${reads() - before} reads: one for the change, at most one of the poll`);
    t.is(await listening(), 1);
  });
});

test('a watcher hears of a change long before the poll', async (t) => {
  await withWatch(async ({ watch, aJob, touch }) => {
    const jobId = await aJob();
    const steps: (string | null)[] = [];
    watch.watch(jobId, (job) => void steps.push(job.step));
    await until('the first look', () => steps.length > 0);
    const began = performance.now();
    for (let n = 0; n < 10; n++) {
      await touch(jobId, `step ${n}`);
      await until('the step', () => steps.at(-1) === `step ${n}`);
    }
    t.true(performance.now() - began < 2_000, 'ten of them before the poll would have told of one');
  });
});

test('when the last watcher of a job has left, nothing is read of it any more', async (t) => {
  await withWatch(async ({ watch, aJob, touch, reads }) => {
    const jobId = await aJob();
    let heard = 0;
    const leave = Array.from({ length: 5 }, () => watch.watch(jobId, () => heard++));
    await until('the first look', () => heard >= 5);
    for (const unwatch of leave) unwatch();
    const [before, heardBefore] = [reads(), heard];
    await touch(jobId);
    await sleep(2_500); // longer than the poll's interval
    t.is(reads(), before);
    t.is(heard, heardBefore);
  });
});

test('a LISTEN connection that is cut comes back, and what happened meanwhile is told', async (t) => {
  await withWatch(async ({ db, watch, aJob, touch, listening }) => {
    const jobId = await aJob();
    let step: string | null = null;
    watch.watch(jobId, (job) => void (step = job.step));
    await db.raw(`select pg_terminate_backend(pid) from pg_stat_activity
                   where datname = current_database() and application_name = 'acp-watch'`);
    await touch(jobId, 'meanwhile');
    await until('what happened meanwhile', () => step === 'meanwhile');
    await until('a new connection', async () => (await listening()) === 1);
    await touch(jobId, 'after');
    await until('what happened after', () => step === 'after');
    t.pass();
  });
});

test('a wait ends when the job does, when the time is up and when the caller leaves', async (t) => {
  await withWatch(async ({ db, watch, aJob }) => {
    const [ending, lasting] = [await aJob(), await aJob()];
    const finished = watch.untilFinished(ending, 20_000);
    await db('jobs').update({ status: 'failed', finishedAt: db.fn.now() }).where({ id: ending });
    t.is((await finished)?.status, 'failed');
    t.is((await watch.untilFinished(lasting, 300))?.status, 'queued');
    const left = new AbortController();
    const waiting = watch.untilFinished(lasting, 20_000, left.signal);
    left.abort();
    const began = performance.now();
    await waiting;
    t.true(performance.now() - began < 1_000);
  });
});
