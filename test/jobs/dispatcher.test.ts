import test, { type ExecutionContext } from 'ava';
import { type Db, makeDb } from '../../src/db/knex.js';
import { Dispatcher, type DispatchTemporal } from '../../src/jobs/dispatcher.js';
import type { Job } from '../../src/models/job.js';
import { newId } from '../../src/models/new-id.js';
import { makeLog } from '../../src/telemetry/log.js';
import { aDatabase } from '../support/a-database.js';
import { aJob } from '../support/a-job.js';

const USER = newId('user');

const aDb = async (t: ExecutionContext): Promise<Db> => {
  const database = await aDatabase();
  const db = makeDb({ url: database.url, max: 2, name: 'acp-test' });
  t.teardown(async () => {
    await db.destroy();
    await database.drop();
  });
  await db('users').insert({ id: USER, issuer: 'i', subject: 's', email: '', name: '' });
  return db;
};

/** A Temporal that notes the jobs it is asked about, and has no answer for those in `bad`. */
const aTemporal = (bad: Set<string>, facts: { isThere: boolean }) => {
  const asked: string[] = [];
  const ask = (job: Job): void => {
    asked.push(job.id);
    if (bad.has(job.id)) throw new Error('no answer for this one');
  };
  const temporal: DispatchTemporal = {
    start: (job) =>
      Promise.resolve(job)
        .then(ask)
        .then(() => 'started'),
    cancel: (job) =>
      Promise.resolve(job)
        .then(ask)
        .then(() => 'asked'),
    stateOf: (job) =>
      Promise.resolve(job)
        .then(ask)
        .then(() => 'closed'),
    terminate: () => Promise.resolve(),
    isReachable: () => Promise.resolve(asked.length === 0 || facts.isThere),
    seemsUp: true,
  };
  return { temporal, asked };
};

const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);
const kinds = {
  start: { status: 'queued', finishedAt: null, createdAt: ago(5) },
  cancel: { status: 'running', finishedAt: null, cancelRequestedAt: ago(5) },
  'look up': { status: 'running', finishedAt: null, updatedAt: ago(60) },
} as const;

const run = async (t: ExecutionContext, what: keyof typeof kinds, isThere: boolean) => {
  const db = await aDb(t);
  const jobs: string[] = [];
  for (let i = 0; i < 5; i++) jobs.push(await aJob({ db }, USER, { ...kinds[what], lockKey: null }));
  const { temporal, asked } = aTemporal(new Set(jobs.slice(0, 2)), { isThere });
  await new Dispatcher(db, temporal, makeLog('test', 'silent'), 1).pass();
  return { jobs, asked, bad: jobs.slice(0, 2) };
};

for (const what of ['start', 'cancel', 'look up'] as const) {
  test(`jobs that Temporal can never ${what} keep no other waiting`, async (t) => {
    const { jobs, asked } = await run(t, what, true);
    t.deepEqual(asked.toSorted(), jobs.toSorted());
  });

  test(`when Temporal is away, the first job it cannot ${what} ends the round`, async (t) => {
    const { asked, bad } = await run(t, what, false);
    t.is(asked.filter((id) => bad.includes(id)).length, 1);
  });
}
