import type { Agent } from '../../src/models/agent.js';
import type { Host, HostVolume } from '../../src/providers/host/host.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { volumeNameOf } from '../../src/rules/host-name.js';
import { appOf } from './deps.js';

const goneStates = new Set(['scheduling_destroy', 'pending_destroy', 'destroyed']);

export const isVolumeGoing = (volume: HostVolume): boolean => goneStates.has(volume.state);

/** The volumes of exactly the agent's name; names are not unique at the host. */
export const volumesOf = async (host: Host, agent: Agent, signal: AbortSignal): Promise<HostVolume[]> =>
  (await host.listVolumes(appOf(agent), signal)).filter(
    (volume) => volume.name === volumeNameOf(agent.id) && !isVolumeGoing(volume),
  );

/** Of several volumes of one name the attached one counts, else the oldest. Throws when two may hold data. */
export const chooseVolume = (volumes: HostVolume[]): HostVolume | undefined => {
  const attached = volumes.filter((volume) => volume.attachedMachineId !== null);
  if (attached.length > 1)
    throw new VendorError('conflict', 'host: two volumes of the agent hold data', { retryable: false });
  return attached[0] ?? volumes.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))[0];
};
