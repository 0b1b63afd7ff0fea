import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { anEventStream } from '../support/an-event-stream.js';
import { endJob } from '../support/a-job.js';
import { withStack } from '../support/a-stack.js';
import { until } from '../support/until.js';

const stack = withStack(test, { workers: false });
const WATCHERS = 60;

const connectionsOf = async (name: string): Promise<number> => {
  const { rows } = await stack().db.raw<{ rows: unknown[] }>(
    'select pid from pg_stat_activity where datname = current_database() and application_name = ?',
    [name],
  );
  return rows.length;
};

/** Whether the poll, every 2 s, reads jobs for watchers: its read is then seen waiting behind a lock of the table. */
const isPolling = async (): Promise<boolean> =>
  stack().db.transaction(async (trx) => {
    await trx.raw('lock table jobs in access exclusive mode');
    await sleep(2_500);
    const { rows } = await trx.raw<{ rows: unknown[] }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and application_name = 'acp-api' and query ilike 'select%from "jobs"%'`,
    );
    return rows.length > 0;
  });

test.serial('a crowd watching one job costs one connection, and all hear of its end', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const streams = await Promise.all(Array.from({ length: WATCHERS }, () => anEventStream(ada, body.job.id)));
  await until('an event for each', () => streams.every(({ events }) => events.length > 0));
  t.is(await connectionsOf('acp-watch'), 1);
  t.true((await connectionsOf('acp-api')) <= 10, 'no more than the pool holds');
  t.true(await isPolling(), 'while somebody watches, the poll reads');
  const [leaving, staying] = [streams.slice(0, WATCHERS / 2), streams.slice(WATCHERS / 2)];
  for (const stream of leaving) stream.leave();
  await endJob(stack(), body.job, { status: 'canceled' });
  await Promise.all(staying.map((stream) => stream.ended));
  for (const { events } of staying) t.is(events.at(-1)?.job.status, 'canceled');
});

test.serial('watchers that leave are forgotten while the job goes on', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const streams = await Promise.all(Array.from({ length: WATCHERS }, () => anEventStream(ada, body.job.id)));
  await until('an event for each', () => streams.every(({ events }) => events.length > 0));
  for (const stream of streams) stream.leave();
  await Promise.all(streams.map((stream) => stream.ended));
  t.false(await isPolling(), 'the poll has nobody to read for');
});
