import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from './failure.js';

/** How to start one process of the local world, and how to tell that it is ready. */
export interface Launch {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  logFile: string;
  /** One look: true once the process can be used. */
  ready: () => Promise<boolean>;
  readyWithinMs?: number;
  stopSignal?: NodeJS.Signals;
  stopWithinMs?: number;
  runAs?: { uid: number; gid: number } | undefined;
  /** What a person can do when it does not start. */
  hint?: string;
  /** Clears the way for another start after a death. */
  beforeRestart?: () => Promise<void>;
}

export interface Running {
  pid: number;
  /** Where in the log file, in bytes, its own words begin. */
  logFrom: number;
  /** Resolves with `exit code 1` or `signal SIGKILL` once the process has ended. */
  exited: Promise<string>;
  hasExited: () => boolean;
  /** Asks the process to end; kills its whole group when it has not after `stopWithinMs`. */
  stop: () => Promise<void>;
  /** Ends the whole group at once. */
  kill: () => void;
}

const rotateAboveBytes = 20 * 1024 * 1024;

/**
 * Starts the process and waits until it is ready.
 * @throws Failure when it cannot be started, ends before it is ready, or is not ready in time
 */
export async function start(launch: Launch): Promise<Running> {
  const running = spawnDetached(launch);
  await untilReady(launch, running);
  return running;
}

/** Waits until the started process is ready, and stops it when that takes too long. @throws Failure like `start` */
export async function untilReady(launch: Launch, running: Running): Promise<void> {
  const withinMs = launch.readyWithinMs ?? 60_000;
  const end = Date.now() + withinMs;
  while (!(await launch.ready().catch(() => false))) {
    if (running.hasExited()) throw await tellEnd(launch, running, await running.exited);
    if (Date.now() > end) {
      await running.stop();
      throw await tellEnd(launch, running, `no sign of being ready after ${withinMs / 1000} s`);
    }
    await Promise.race([sleep(50), running.exited]);
  }
}

/**
 * Starts the process without waiting for anything. It leads a process group of its own, so that a Ctrl-C in the terminal
 * reaches the starter alone and everything can be stopped in order.
 */
export function spawnDetached(launch: Omit<Launch, 'ready'>): Running {
  const log = openLog(launch.logFile);
  const logFrom = fstatSync(log).size;
  const child = spawn(launch.command, launch.args, {
    env: launch.env,
    cwd: launch.cwd,
    stdio: ['ignore', log, log],
    detached: true,
    ...launch.runAs,
  });
  closeSync(log);
  let ended = false;
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
    child.once('error', (error) => resolve(error.message));
  }).finally(() => {
    ended = true;
  });
  return {
    pid: child.pid ?? 0,
    logFrom,
    exited,
    hasExited: () => ended,
    stop: () => stop(child, exited, launch),
    kill: () => signalGroup(child, 'SIGKILL'),
  };
}

async function stop(child: ChildProcess, exited: Promise<string>, launch: Omit<Launch, 'ready'>): Promise<void> {
  child.kill(launch.stopSignal ?? 'SIGTERM');
  const late = setTimeout(() => signalGroup(child, 'SIGKILL'), launch.stopWithinMs ?? 10_000);
  await exited;
  clearTimeout(late);
  signalGroup(child, 'SIGKILL'); // whatever it left behind in its group
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (!pid) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // nobody is left in the group
  }
}

function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > rotateAboveBytes) renameSync(file, `${file}.1`);
  return openSync(file, 'a', 0o600);
}

/** The failure of a process that ended when it should not have, with its last words. */
export async function tellEnd(
  { name, logFile, hint }: Omit<Launch, 'ready'>,
  { logFrom }: Running,
  how: string,
): Promise<Failure> {
  const log = await readFile(logFile).catch(() => Buffer.alloc(0));
  const words = log.subarray(logFrom).toString().trimEnd().split('\n').slice(-10);
  const shown = words.map((line) => `    ${line.slice(0, 240)}`).join('\n');
  return new Failure(`${name} stopped with ${how}${hint ? `: ${hint}` : ''}. Its last words (${logFile}):\n${shown}`);
}
