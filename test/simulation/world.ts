import { Client, Connection } from '@temporalio/client';
import { type Stack, startStack } from '../support/a-stack.js';
import type { KilledWorker } from './plan.js';
import { SupervisedWorker } from './supervised-worker.js';
import { aTokenTap, type TokenTap } from './token-tap.js';

/** What all seeds of a run share: the product with its workers as processes of their own, and the host. */
export interface World {
  stack: Stack;
  tap: TokenTap;
  /** kill -9; it comes back by itself. */
  kill(worker: KilledWorker): Promise<void>;
  kills(): number;
  /** A pass of the reconciler that begins after this call. Never two at a time, as its schedule has it. */
  reconcile(): Promise<void>;
  close(): Promise<void>;
}

const RECONCILE_MS = 120_000;

export const startWorld = async (): Promise<World> => {
  const tap = await aTokenTap();
  const stack = await startStack({ workers: false, env: { MACHINE_API_URL: tap.url } });
  tap.connect(stack.url);
  const workers: Record<KilledWorker, SupervisedWorker> = {
    host: new SupervisedWorker('workers/host', stack.env),
    control: new SupervisedWorker('workers/control', stack.env),
    'host-background': new SupervisedWorker('workers/host-background', stack.env),
  };
  const all = Object.values(workers);
  const connection = await Connection.connect({ address: stack.env['TEMPORAL_ADDRESS'] ?? '' });
  const close = async (): Promise<void> => {
    await Promise.all(all.map((worker) => worker.close()));
    await connection.close();
    await stack.close();
    await tap.close();
  };
  try {
    await Promise.all(all.map((worker) => worker.ready()));
  } catch (error) {
    await close();
    throw error;
  }

  const client = new Client({ connection });
  const prefix = stack.env['TEMPORAL_QUEUE_PREFIX'] ?? '';
  const taskQueue = `${prefix}control`;
  let passes = 0;
  let running: Promise<unknown> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  const pass = async (): Promise<void> => {
    await running.catch(() => undefined);
    waiting = undefined;
    const workflowId = `${prefix}reconcile-${++passes}`;
    const passing = client.workflow.execute('reconcileHost', {
      workflowId,
      taskQueue,
      workflowExecutionTimeout: RECONCILE_MS,
    });
    running = passing;
    await passing;
  };

  return {
    stack,
    tap,
    kill: (worker) => workers[worker].kill(),
    kills: () => all.reduce((sum, { kills }) => sum + kills, 0),
    reconcile: () => (waiting ??= pass()),
    close,
  };
};
