import type { EffectLog } from './effect-log.js';
import { versionId } from './ids.js';
import type { Machine, StopWith } from './machine.js';
import type { MachineConfig, MachineState } from './records.js';
import { Refusal } from './refusal.js';

/** What the API lets happen to a machine: each checks the state, writes the wish, and leaves the rest to the loop. */

const gone: MachineState[] = ['destroying', 'destroyed'];

/** The first boot of a machine that was created to run; a stop or delete meanwhile wins. */
export function launchMachine(machine: Machine): void {
  const { record } = machine;
  if (record.desired !== 'started' || record.state !== 'created') return;
  machine.become('starting', { type: 'start' });
  void machine.settle();
}

/** @returns the state before. Started already is success without effect. */
export function startMachine(machine: Machine, effects: EffectLog): MachineState {
  const { record } = machine;
  const before = record.state;
  if (['started', 'starting', 'restarting'].includes(before)) return before;
  allowFrom(machine, 'start', ['created', 'stopped', 'suspended', 'failed']);
  record.desired = 'started';
  machine.become('starting', { type: 'start' });
  effects.append('machine.start', record.name, record.id);
  void machine.settle();
  return before;
}

/** Stopped already is success without effect. */
export function stopMachine(
  machine: Machine,
  how: StopWith & { to: 'stopped' | 'suspended' },
  effects: EffectLog,
): void {
  const { record } = machine;
  if (['stopping', 'suspending', how.to].includes(record.state)) return;
  allowFrom(machine, 'stop', ['created', 'starting', 'started', 'restarting', 'suspended', 'failed']);
  record.desired = how.to;
  machine.stopWith = how;
  machine.become(how.to === 'stopped' ? 'stopping' : 'suspending', { type: 'stop' });
  effects.append('machine.stop', record.name, record.id);
  void machine.settle();
}

export function restartMachine(machine: Machine, how: StopWith, effects: EffectLog): void {
  const { record } = machine;
  allowFrom(machine, 'restart', ['started', 'stopped', 'suspended', 'failed']);
  if (record.state === 'started') effects.append('machine.stop', record.name, record.id);
  record.desired = 'started';
  machine.stopWith = how;
  machine.renew();
  machine.become('restarting', { type: 'restart' });
  effects.append('machine.start', record.name, record.id);
  void machine.settle();
}

/** Replaces the configuration whole and swaps the machine behind the answer. Stopped stays stopped. */
export function replaceMachine(
  machine: Machine,
  next: {
    config: MachineConfig;
    secrets: Record<string, string>;
    secretsVersion: number;
    skipLaunch: boolean;
    stopWith: StopWith;
  },
  effects: EffectLog,
): void {
  const { record } = machine;
  allowFrom(machine, 'update', ['created', 'starting', 'started', 'restarting', 'stopped', 'suspended', 'failed']);
  record.pastVersions.unshift(record.version);
  record.pastVersions.splice(20);
  record.version = versionId();
  record.config = next.config;
  record.secrets = next.secrets;
  record.secretsVersion = next.secretsVersion;
  if (record.desired !== 'started' || next.skipLaunch) record.desired = 'stopped';
  machine.stopWith = next.stopWith;
  machine.become('replacing', { type: 'update' });
  effects.append('machine.update', record.name, record.id);
  void machine.settle();
}

/** Resolves when the process is gone and the machine shows as destroyed. */
export async function destroyMachine(machine: Machine, how: { force: boolean }, effects: EffectLog): Promise<void> {
  const { record } = machine;
  if (gone.includes(record.state)) return machine.settle();
  if (!how.force) allowFrom(machine, 'destroy', ['created', 'stopped', 'suspended', 'failed']);
  record.desired = 'destroyed';
  machine.become('destroying', { type: 'destroy' });
  effects.append('machine.delete', record.name, record.id);
  await Promise.all([machine.settle(), machine.cutPower()]);
}

/** A power cut: not an action of the API. Without `restart` the machine stays down. */
export async function killMachine(machine: Machine, how: { restart: boolean }): Promise<void> {
  if (!how.restart && machine.record.desired === 'started') {
    machine.record.desired = 'stopped';
    machine.stopWith = { signal: 'SIGKILL', timeoutMs: 0, isRequested: false };
    await machine.settle();
  }
  await machine.cutPower();
}

function allowFrom(machine: Machine, verb: string, states: MachineState[]): void {
  const { state } = machine.record;
  if (states.includes(state)) return;
  const status = gone.includes(state) && verb !== 'destroy' ? 404 : 412;
  throw new Refusal(status, `failed_precondition: unable to ${verb} machine from current state: '${state}'`);
}
