import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Writes one line. Callers pass ids and codes only: no token ever reaches a field. */
export type Log = (event: string, fields?: Record<string, string | number | boolean>) => void;

/** Two files of at most this are kept: an old one, and the one that grows. */
const MAX_BYTES = 256 * 1024;

/** JSON lines on standard output, for whoever runs the process. */
export const log: Log = (event, fields = {}) => {
  process.stdout.write(`${JSON.stringify({ level: 'info', time: new Date().toISOString(), msg: event, ...fields })}\n`);
};

/** The same, and kept on the volume as `runtime.log`, where the control plane reads it for the agent's owner (docs/runtime.md). */
export function makeKeptLog(stateDir: string): Log {
  const path = join(stateDir, 'runtime.log');
  let isBroken = false;
  return (event, fields = {}) => {
    log(event, fields);
    const facts = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`);
    try {
      mkdirSync(stateDir, { recursive: true, mode: 0o700 });
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES) renameSync(path, `${path}.1`);
      appendFileSync(path, `${new Date().toISOString()} ${event}${facts.join('')}\n`, { mode: 0o600 });
      isBroken = false;
    } catch (error) {
      if (!isBroken) log('the log cannot be kept', { why: errorCode(error) }); // a full disk must not end the runtime
      isBroken = true;
    }
  };
}

/** The error's code, never its message: a message may quote what was written. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
