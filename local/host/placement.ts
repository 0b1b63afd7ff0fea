import { join, posix } from 'node:path';
import type { MachineRecord } from './records.js';
import type { Store } from './store.js';

/** Where the paths inside a machine really lie on this disk. */
export interface Placement {
  /** Stands for the machine's root file system, which is fresh at every boot. */
  root: string;
  /** The real folder of the state directory, on the volume when one is mounted there. */
  stateDir: string;
}

export const DEFAULT_STATE_DIR = '/data/acp';

export function placementOf(machine: MachineRecord, store: Store): Placement {
  const root = join(store.machinePath(machine.id), 'root');
  const inside = posix.resolve('/', machine.config.env?.['ACP_STATE_DIR'] ?? DEFAULT_STATE_DIR);
  for (const mount of machine.config.mounts ?? []) {
    const below = posix.relative(posix.resolve('/', mount.path), inside);
    if (below.startsWith('..')) continue;
    return { root, stateDir: join(store.volumePath(mount.volume), below) };
  }
  return { root, stateDir: join(root, inside) };
}
