import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { aNamespace, type Cable, whyNoNamespace } from '../../support/a-namespace.js';
import { type AProcess, type Program, startProcess } from '../../support/a-process.js';
import { type Stack, startStack } from '../../support/a-stack.js';
import { aStorm } from '../../support/a-storm.js';
import { assertConverged } from '../../support/after-a-storm.js';
import { part } from './share.js';

const SILENCE_MS = part(20_000, 20_000);
/** No call and no statement may wait longer. */
const HANG_MS = 35_000;

const why = await whyNoNamespace();
const inANamespace = why === undefined ? test : test.skip;
const named = (title: string): string => (why === undefined ? title : `${title} (skipped: ${why})`);

interface World {
  stack: Stack;
  database: Cable;
  host: Cable;
  processes: AProcess[];
}

/** The product's processes in a namespace of their own, with one cable to the database, one to the host and one to everything else. */
const aWorld = async (t: ExecutionContext): Promise<World> => {
  const namespace = await aNamespace();
  t.teardown(() => namespace.close());
  const [steady, database, host] = [await namespace.cable(), await namespace.cable(), await namespace.cable()];
  const stack = await startStack({ api: false, workers: false });
  t.teardown(() => stack.close());
  const databaseUrl = new URL(stack.env['DATABASE_URL'] ?? '');
  databaseUrl.host = await namespace.forward(database, databaseUrl.host);
  const hostUrl = `http://${await namespace.forward(host, new URL(stack.host.url).host)}`;
  const issuer = await namespace.forward(steady, new URL(stack.issuer.url).host);
  const settings = {
    ...stack.env,
    DATABASE_URL: databaseUrl.href,
    TEMPORAL_ADDRESS: await namespace.forward(steady, stack.env['TEMPORAL_ADDRESS'] ?? ''),
    OIDC_JWKS_URL: `http://${issuer}/jwks`,
    HOST_API_URL: `${hostUrl}/v1`,
    HOST_GATEWAY_URL: `${hostUrl}/ingress/{app}`,
  };
  await namespace.reach(steady, Number(stack.env['PORT']));
  const start = async (program: Program) => {
    const one = await startProcess(program, settings, { enter: namespace.enter, address: steady.there });
    t.teardown(() => one.kill());
    return one;
  };
  const programs = ['src/server', 'workers/control', 'workers/host', 'workers/host-background'] as const;
  return { stack, database, host, processes: await Promise.all(programs.map(start)) };
};

for (const where of ['database', 'host'] as const)
  inANamespace(
    named(
      `packets to the ${where} are dropped for 20 s while calls arrive: nothing hangs, nothing is lost, all converges`,
    ),
    async (t) => {
      t.timeout(600_000);
      const { stack, processes, ...cables } = await aWorld(t);
      const cable = cables[where];
      const trouble = (async () => {
        await sleep(3_000);
        await cable.cut();
        await sleep(1_000); // what had arrived is still done
        const effects = stack.host.effects().length;
        await sleep(SILENCE_MS - 1_000);
        if (where === 'host') t.is(stack.host.effects().length, effects, 'the host hears nothing meanwhile');
        await cable.mend();
        return Date.now();
      })();
      const storm = await aStorm(stack, { callers: 6, durationMs: SILENCE_MS + 6_000, pauseMs: 150 });
      const mendedAt = await trouble;
      t.true(storm.slowestMs < HANG_MS, `${storm.slowestMs} ms`);
      t.is(storm.answers.get(500), undefined, 'none was an unexpected error');
      t.is(storm.answers.get(0), undefined, 'each was answered');
      t.is((storm.answers.get(503) ?? 0) > 0, where === 'database', 'who needs what is silent is told so');
      await assertConverged(t, stack, storm, 180);
      t.log(`all had ended ${Date.now() - mendedAt} ms after the packets went through again`);
      for (const one of processes) t.true(one.isRunning(), one.output());
    },
  );
