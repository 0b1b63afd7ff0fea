import type { Exit } from './machine-process.js';
import type { MachineConfig } from './records.js';

const FIRST_MS = 250;
const LONGEST_MS = 10_000;
const DEFAULT_RETRIES = 10;

/**
 * Milliseconds until a machine that ended by itself is booted again, or undefined when it stays
 * down. `failures` counts the unasked-for ends in a row before this one.
 */
export function restartDelayMs(restart: MachineConfig['restart'], exit: Exit, failures: number): number | undefined {
  const policy = restart?.policy ?? 'on-failure';
  if (policy === 'no') return undefined;
  if (policy === 'on-failure' && exit.code === 0) return undefined;
  if (policy === 'on-failure' && failures >= (restart?.max_retries ?? DEFAULT_RETRIES)) return undefined;
  return Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
}
