import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { aCrashingPostgres } from '../../support/a-crashing-postgres.js';
import { startProcess } from '../../support/a-process.js';
import { startStack } from '../../support/a-stack.js';
import { aStorm } from '../../support/a-storm.js';
import { assertConverged } from '../../support/after-a-storm.js';
import { part } from './share.js';

const TROUBLE_MS = part(30_000, 10_000);
const EVERY_MS = 2_500;

test('PostgreSQL crashes every 2.5 s while calls arrive: no acknowledged write is lost, no process ends, all converges', async (t) => {
  t.timeout(600_000);
  const server = await aCrashingPostgres();
  t.teardown(() => server.close());
  const stack = await startStack({ api: false, workers: false, databaseServer: server.url });
  t.teardown(() => stack.close());
  const programs = ['src/server', 'workers/control', 'workers/host', 'workers/host-background'] as const;
  const processes = await Promise.all(programs.map((program) => startProcess(program, stack.env)));
  t.teardown(() => Promise.all(processes.map((one) => one.kill())));

  let crashes = 0;
  const trouble = (async () => {
    const until = Date.now() + TROUBLE_MS;
    for (let next = Date.now() + EVERY_MS; next < until; next += EVERY_MS) {
      await sleep(Math.max(0, next - Date.now()));
      await server.crash();
      await server.recover();
      crashes++;
    }
  })();
  const storm = await aStorm(stack, { callers: 6, durationMs: TROUBLE_MS, pauseMs: 100 });
  await trouble;
  const calm = Date.now();
  t.true(crashes >= Math.floor(TROUBLE_MS / EVERY_MS) - 2, `${crashes} crashes`);
  t.true((storm.answers.get(503) ?? 0) > 0, 'some calls met a database that was away');
  t.is(storm.answers.get(500), undefined, 'none was an unexpected error');
  t.is(storm.answers.get(0), undefined, 'each was answered');

  await assertConverged(t, stack, storm, 180);
  t.log(`${crashes} crashes in ${TROUBLE_MS} ms; all had ended ${Date.now() - calm} ms after the last`);
  for (const one of processes) t.true(one.isRunning(), one.output());
});
