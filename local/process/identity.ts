import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** A pid alone may be reused by a stranger; pid and start time together name one process. */
export interface ProcessRecord {
  pid: number;
  startedAt: string;
}

/** Is anything running under this pid? A process of another user counts, a zombie too. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // process.kill throws errno errors only
  }
}

/** The record of a running process, or undefined when it is gone. */
export async function recordOf(pid: number): Promise<ProcessRecord | undefined> {
  const startedAt = await startOf(pid);
  return startedAt ? { pid, startedAt } : undefined;
}

/** Does exactly the recorded process still run? */
export async function stillRuns(record: ProcessRecord): Promise<boolean> {
  return isAlive(record.pid) && (await startOf(record.pid)) === record.startedAt;
}

/** The command line a process was started with; empty when it is gone. */
export async function commandOf(pid: number): Promise<string> {
  if (process.platform !== 'linux') return psColumn(pid, 'command');
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').trim();
}

/** The pid of the process's parent; 0 when it is gone. */
export async function parentOf(pid: number): Promise<number> {
  if (process.platform !== 'linux') return Number(await psColumn(pid, 'ppid'));
  return Number((await statOf(pid))[1] ?? 0);
}

/** When the process began, in the system's own words; empty when it is gone or only a zombie. */
async function startOf(pid: number): Promise<string> {
  if (process.platform !== 'linux') return psColumn(pid, 'lstart');
  const stat = await statOf(pid);
  return stat.length === 0 || stat[0] === 'Z' ? '' : `${await bootId()}/${stat[19]}`;
}

/** The fields of /proc/<pid>/stat from the state on (slim images have no `ps`). The name before it may hold blanks. */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat ? stat.slice(stat.lastIndexOf(')') + 2).split(' ') : [];
}

const bootId = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim().slice(0, 8);

async function psColumn(pid: number, column: 'lstart' | 'command' | 'ppid'): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }; // the start time must read the same in every session
  const run = promisify(execFile);
  const output = await run('ps', ['-ww', '-o', `${column}=`, '-p', `${pid}`], { env }).catch(() => null);
  return output?.stdout.trim() ?? '';
}
