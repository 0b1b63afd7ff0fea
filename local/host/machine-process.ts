import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The child process that a started machine is. */
export interface MachineProcess {
  pid: number;
  port: number;
  exited: Promise<Exit>;
  /** Asks with the signal, insists with SIGKILL after `timeoutMs`; resolves once it is gone. */
  stop(signal: NodeJS.Signals, timeoutMs: number): Promise<Exit>;
}

export interface Boot {
  machineId: string;
  runtimeEntry: string;
  port: number;
  stateDir: string;
  cwd: string;
  env: Record<string, string>;
  logFile: string;
  args: string[];
}

/**
 * Boots a machine. Its standard input is a pipe that the runtime lives by: however this process
 * ends, its machines end with it.
 * @throws the error of the spawn.
 */
export async function bootMachine(boot: Boot): Promise<MachineProcess> {
  const log = openSync(boot.logFile, 'a', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(
      process.execPath,
      [
        boot.runtimeEntry,
        '--machine-id',
        boot.machineId, // read by nobody but whoever looks for leftovers
        '--listen',
        `127.0.0.1:${boot.port}`,
        '--state-dir',
        boot.stateDir,
        '--end-with-stdin',
        ...boot.args,
      ],
      // a session of its own: a Ctrl-C at our terminal is no business of the machine's
      { cwd: boot.cwd, env: boot.env, stdio: ['pipe', log, log], detached: true },
    );
  } finally {
    closeSync(log);
  }
  child.stdin?.on('error', () => undefined); // a dead machine's pipe breaks; its exit says so
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      endGroup(child.pid); // what the runtime left running goes with its machine
      resolve({ code, signal });
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.on('error', reject); // stays on, so that a late one cannot end us
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error('a spawned process has a pid');
  return {
    pid,
    port: boot.port,
    exited,
    async stop(signal, timeoutMs) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const insist = setTimeout(() => endGroup(pid), timeoutMs);
      const exit = await exited;
      clearTimeout(insist);
      return exit;
    },
  };
}

/** Ends a process and all it started, as a power cut does. */
export function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // nothing of it is left
  }
}
