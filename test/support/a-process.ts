import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../local/process/ports.js';
import { answers, until } from '../../local/process/wait.js';

export type Program = 'src/server' | 'workers/control' | 'workers/host' | 'workers/host-background';

/** A process of the product, as a supervisor runs it. */
export interface AProcess {
  pid: number;
  /** Everything it has printed so far. */
  output(): string;
  isRunning(): boolean;
  /** Resolves with `exit code 0` or `signal SIGKILL` once it has ended. */
  exited: Promise<string>;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
  /** SIGTERM, and waits until it is gone; how it ended. */
  stop(): Promise<string>;
}

const READY_WITHIN_MS = 60_000;
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Where a process runs, when not simply here. */
export interface Elsewhere {
  /** A command that runs the one that follows it. */
  enter: readonly string[];
  /** The address at which it listens, as it and we name it. */
  address: string;
}

/** Starts the program with these settings alone and waits until it says it is ready. */
export const startProcess = async (
  program: Program,
  settings: Record<string, string>,
  elsewhere?: Elsewhere,
): Promise<AProcess> => {
  const healthPort = await freePort();
  const path = fileURLToPath(new URL(`../../${program}.js`, import.meta.url));
  const [command, ...args] = [...(elsewhere?.enter ?? []), process.execPath, path];
  const child = spawn(command, args, {
    env: {
      PATH: process.env['PATH'],
      HEALTH_PORT: String(healthPort),
      ...(elsewhere ? { LISTEN_ADDRESS: elsewhere.address } : {}),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void printed.push(text));
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
  const isRunning = (): boolean => running.has(child);
  const end = (signal: NodeJS.Signals): Promise<string> => {
    child.kill(signal);
    return exited;
  };
  const port = program === 'src/server' ? settings['PORT'] : healthPort;
  const isReady = answers(`http://${elsewhere?.address ?? '127.0.0.1'}:${port}/readyz`);
  if (!(await until(async () => !isRunning() || isReady(), READY_WITHIN_MS)) || !isRunning()) {
    await end('SIGKILL');
    throw new Error(`${program} did not get ready:\n${printed.join('')}`);
  }
  return {
    pid: child.pid ?? 0,
    output: () => printed.join(''),
    isRunning,
    exited,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
};
