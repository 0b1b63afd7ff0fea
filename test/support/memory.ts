import { readdirSync, readFileSync } from 'node:fs';

const KB_PER_MB = 1_024;

const fieldOf = (file: string, name: string): number => {
  try {
    const text = readFileSync(file, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / KB_PER_MB;
  } catch {
    return 0; // it has ended
  }
};

/** Megabytes of memory that the process has resident; 0 when it is gone. Linux only. */
export const residentMb = (pid: number): number => fieldOf(`/proc/${pid}/status`, 'VmRSS');

/** The most that it ever had. */
export const peakMb = (pid: number): number => fieldOf(`/proc/${pid}/status`, 'VmHWM');

/** Megabytes of a process, what it shares counted in parts. */
export const proportionalMb = (pid: number): number => fieldOf(`/proc/${pid}/smaps_rollup`, 'Pss');

/** The processes that this one has started and that still run. */
export const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
