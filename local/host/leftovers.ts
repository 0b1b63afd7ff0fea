import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endGroup } from './machine-process.js';

const run = promisify(execFile);
const GONE_MS = 5_000;

/**
 * Ends a machine's process that outlived an earlier life of the stand-in. A process counts as
 * ours only when its command line names the machine: pids are reused.
 */
export async function endLeftover(pid: number, machineId: string): Promise<void> {
  if (!(await commandLine(pid)).includes(machineId)) return;
  endGroup(pid);
  const until = Date.now() + GONE_MS;
  while (Date.now() < until && (await commandLine(pid)).includes(machineId)) await sleep(10);
}

/** The command line of a running process; empty when there is none, or it is a zombie. */
async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout;
}
