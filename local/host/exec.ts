import { spawn } from 'node:child_process';
import { machineEnvironment } from './boot.js';
import type { Machine } from './machine.js';
import { endGroup } from './machine-process.js';
import { placementOf } from './placement.js';
import { Refusal } from './refusal.js';
import type { Store } from './store.js';

export interface Outcome {
  stdout: string;
  stderr: string;
  exit_code: number;
  exit_signal: number;
}

const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Runs a command in the machine's environment and folder; the state directory is given by its
 * real path. A command that fails, or does not exist, is an outcome, not an error.
 * @throws Refusal 408 when it outlives `timeoutMs`: it is ended then.
 */
export function execIn(
  machine: Machine,
  store: Store,
  input: { command: string[]; stdin: string; timeoutMs: number },
): Promise<Outcome> {
  const [file = '', ...args] = input.command;
  const placement = placementOf(machine.record, store);
  const child = spawn(file, args, {
    cwd: placement.root,
    env: {
      ...machineEnvironment(machine.app, machine.record, placement),
      ACP_STATE_DIR: placement.stateDir,
    },
    stdio: 'pipe',
    detached: true, // a group of its own, so that what the command started ends with it
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.on('error', () => undefined); // a command need not read its input
  child.stdin.end(input.stdin);

  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      endGroup(child.pid);
      reject(new Refusal(408, 'deadline_exceeded: the command took too long'));
    }, input.timeoutMs);
    const unwatch = machine.watch(() => {
      if (machine.record.state !== 'started') endGroup(child.pid);
    });
    const finish = (outcome: Outcome): void => {
      clearTimeout(timer);
      unwatch();
      resolve(outcome);
    };
    child.once('error', (error) => {
      finish({ stdout: '', stderr: error.message, exit_code: 127, exit_signal: 0 });
    });
    child.once('close', (code, signal) => {
      const exit_signal = signal === null ? 0 : 9;
      finish({ stdout: stdout(), stderr: stderr(), exit_code: code ?? -1, exit_signal });
    });
  });
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_OUTPUT_BYTES) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
