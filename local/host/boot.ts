import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bootMachine, type MachineProcess } from './machine-process.js';
import { placementOf, type Placement } from './placement.js';
import { freePort } from './ports.js';
import type { AppRecord, MachineRecord } from './records.js';
import type { Store } from './store.js';

/** Boots what the record describes on a fresh root file system and a free port. */
export async function boot(
  app: AppRecord,
  machine: MachineRecord,
  parts: { store: Store; runtimeEntry: string },
): Promise<MachineProcess> {
  const { store, runtimeEntry } = parts;
  for (const { volume } of machine.config.mounts ?? []) await stat(store.volumePath(volume));
  const placement = placementOf(machine, store);
  await rm(placement.root, { recursive: true, force: true });
  await mkdir(placement.root, { recursive: true, mode: 0o700 });
  return bootMachine({
    machineId: machine.id,
    runtimeEntry,
    port: await freePort(),
    stateDir: placement.stateDir,
    cwd: placement.root,
    env: machineEnvironment(app, machine, placement),
    logFile: join(store.machinePath(machine.id), 'machine.log'),
    args: machine.config.image.includes('never-ready') ? ['--never-ready'] : [],
  });
}

/** Nothing of this process's own environment but PATH reaches a machine. */
export function machineEnvironment(
  app: AppRecord,
  machine: MachineRecord,
  placement: Placement,
): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: placement.root,
    ...machine.config.env,
    ...machine.secrets,
    FLY_APP_NAME: app.name,
    FLY_MACHINE_ID: machine.id,
    FLY_MACHINE_VERSION: machine.version,
    FLY_REGION: machine.region,
    FLY_IMAGE_REF: machine.config.image,
  };
}
