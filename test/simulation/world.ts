import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { type Stack, startStack } from '../support/a-stack.js';
import { type AProcess, startProcess } from '../support/a-process.js';
import type { KilledWorker } from './plan.js';
import { aTokenTap, type TokenTap } from './token-tap.js';

/** What all seeds of a run share: the product with its workers as processes of their own, and the host. */
export interface World {
  stack: Stack;
  tap: TokenTap;
  /** kill -9; it comes back by itself. Waits until the worker is up and has worked a while. */
  kill(worker: KilledWorker): Promise<void>;
  kills(): number;
  /** A pass of the reconciler that begins after this call. Never two at a time, as its schedule has it. */
  reconcile(): Promise<void>;
  close(): Promise<void>;
}

/** A worker lives this long at least, or many seeds at once would keep it from ever working. */
const LEAST_LIFE_MS = 4_000;
const RECONCILE_MS = 120_000;
const workers = ['host', 'control', 'host-background'] as const satisfies KilledWorker[];

interface Supervised {
  process: AProcess;
  since: number;
  turn: Promise<void>;
}

export const startWorld = async (): Promise<World> => {
  const tap = await aTokenTap();
  const stack = await startStack({ workers: false, env: { MACHINE_API_URL: tap.url } });
  tap.connect(stack.url);
  const start = (worker: KilledWorker): Promise<AProcess> => startProcess(`workers/${worker}`, stack.env);
  const supervised = new Map<KilledWorker, Supervised>();
  await Promise.all(
    workers.map(async (worker) => {
      const process = await start(worker);
      supervised.set(worker, { process, since: Date.now(), turn: Promise.resolve() });
    }),
  );
  const connection = await Connection.connect({ address: stack.env['TEMPORAL_ADDRESS'] ?? '' });
  const client = new Client({ connection });
  let kills = 0;
  let passes = 0;

  /** Resolves as soon as it is dead. */
  const killInTurn = (one: Supervised, worker: KilledWorker): Promise<void> => {
    let onDead = () => {};
    const dead = new Promise<void>((resolve) => (onDead = resolve));
    one.turn = one.turn.then(async () => {
      await sleep(Math.max(0, one.since + LEAST_LIFE_MS - Date.now()));
      await one.process.kill();
      kills += 1;
      onDead();
      one.process = await start(worker);
      one.since = Date.now();
    });
    one.turn.catch(onDead);
    return dead;
  };

  const pass = async (): Promise<void> => {
    const prefix = stack.env['TEMPORAL_QUEUE_PREFIX'] ?? '';
    const options = { taskQueue: `${prefix}control`, workflowExecutionTimeout: RECONCILE_MS };
    await client.workflow.execute('reconcileHost', { ...options, workflowId: `${prefix}reconcile-${++passes}` });
  };
  let running: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;

  return {
    stack,
    tap,
    kill: async (worker) => {
      const one = supervised.get(worker);
      if (one) await killInTurn(one, worker);
    },
    kills: () => kills,
    reconcile: () =>
      (waiting ??= running.then(() => {
        waiting = undefined;
        const passing = pass();
        running = passing.catch(() => undefined);
        return passing;
      })),
    close: async () => {
      for (const one of supervised.values()) {
        await one.turn.catch(() => undefined);
        await one.process.kill();
      }
      await connection.close();
      await stack.close();
      await tap.close();
    },
  };
};
