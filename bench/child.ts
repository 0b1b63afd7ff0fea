import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const TICKS_PER_SECOND = 100; // USER_HZ, the same on every Linux that Node runs on

/** User and system time of a process so far, in microseconds. */
export const cpuMicros = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
};

export interface Child {
  pid: number;
  stop(): Promise<void>;
}

/** Starts a compiled entry of ours and waits until its url answers at all. */
export const startChild = async (entry: string, env: Record<string, string>, url: string): Promise<Child> => {
  const path = fileURLToPath(new URL(`../${entry}`, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [path], {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (let tries = 0; tries < 200; tries++) {
    const answered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (answered && child.pid !== undefined)
      return {
        pid: child.pid,
        stop: async () => {
          child.kill('SIGTERM');
          await new Promise((resolve) => child.once('exit', resolve));
        },
      };
    await sleep(50);
  }
  child.kill('SIGKILL');
  throw new Error(`${entry} did not answer at ${url}`);
};
