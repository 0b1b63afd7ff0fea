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
  const startWorker = async () => {
    worker = await startProcess(`workers/${queue}`, settings);
  };
  await startWorker();
  return {
    stack,
    proxy,
    startWorker,
    killWorker: async () => {
      await worker?.kill();
      proxy.letGo();
    },
    close: async () => {
      await worker?.kill();
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
