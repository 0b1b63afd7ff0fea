import { setTimeout as sleep } from 'node:timers/promises';
import { type AProcess, startProcess } from './a-process.js';
import { aHostProxy, type HostProxy } from './a-host-proxy.js';
import { type Stack, startStack } from './a-stack.js';
import type { Queue } from './workers.js';

/** A stack one of whose workers is a process of its own, with a proxy between it and the host. Takes one agent's job at a time. */
export interface Lane {
  stack: Stack;
  proxy: HostProxy;
  /** kill -9, then what hung at the proxy breaks. */
  killWorker(): Promise<void>;
  startWorker(): Promise<void>;
  /** SIGSTOP, and another worker beside the frozen one. */
  freezeWorker(): Promise<FrozenWorker>;
}

export interface FrozenWorker {
  /** What hung at the proxy is delivered at last, SIGCONT; resolves when it has worked off what it had and has ended in order. */
  wake(): Promise<string>;
}

export interface Lanes {
  /** Waits for a free lane and has it to itself until the work is done. */
  use<T>(work: (lane: Lane) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const startLane = async (queue: Queue): Promise<Lane & { close(): Promise<void> }> => {
  const stack = await startStack({ workers: [queue === 'host' ? 'control' : 'host'] });
  const proxy = await aHostProxy(stack.host.url);
  const settings = {
    ...stack.env,
    HOST_API_URL: `${proxy.url}/v1`,
    HOST_GATEWAY_URL: `${proxy.url}/ingress/{app}`,
  };
  let worker: AProcess | undefined;
  const frozen = new Set<AProcess>();
  const startWorker = async () => {
    worker = await startProcess(`workers/${queue}`, settings);
  };
  await startWorker();
  const freezeWorker = async (): Promise<FrozenWorker> => {
    if (!worker) throw new Error('there is no worker to freeze');
    const late = worker;
    process.kill(late.pid, 'SIGSTOP');
    frozen.add(late);
    worker = await startProcess(`workers/${queue}`, settings);
    return {
      wake: async () => {
        await proxy.deliver(); // into its socket: the first thing it sees
        await sleep(50);
        process.kill(late.pid, 'SIGCONT');
        const end = await late.stop();
        frozen.delete(late);
        return end;
      },
    };
  };
  return {
    stack,
    proxy,
    startWorker,
    freezeWorker,
    killWorker: async () => {
      await worker?.kill();
      proxy.letGo();
    },
    close: async () => {
      if (worker) frozen.add(worker);
      await Promise.all([...frozen].map((one) => one.kill()));
      await proxy.close();
      await stack.close();
    },
  };
};

/** Several lanes side by side: most of what follows a kill is waiting for the heartbeat's time-out. */
export const startLanes = async (count: number, queue: Queue): Promise<Lanes> => {
  const lanes = await Promise.all(Array.from({ length: count }, () => startLane(queue)));
  const free: Lane[] = [...lanes];
  const waiting: ((lane: Lane) => void)[] = [];
  const take = (): Promise<Lane> => {
    const lane = free.pop();
    return lane ? Promise.resolve(lane) : new Promise((resolve) => waiting.push(resolve));
  };
  return {
    async use(work) {
      const lane = await take();
      try {
        return await work(lane);
      } finally {
        const next = waiting.shift();
        if (next) next(lane);
        else free.push(lane);
      }
    },
    close: async () => void (await Promise.all(lanes.map((lane) => lane.close()))),
  };
};
