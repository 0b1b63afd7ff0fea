import { type Agent, changeHeldAgent } from '../../src/models/agent.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { volumeNameOf } from '../../src/rules/host-name.js';
import { appOf, type HostDeps, isFull, orFound } from './deps.js';
import { chooseVolume, volumesOf } from './volumes.js';

/** Whether something may have been written to the agent's volume: from its first machine on. */
export const mayHoldData = (agent: Agent): boolean => agent.provisionedAt !== null || agent.hostMachineId !== null;

/** The volume of an agent. Each returns the agent as it is written then. */
export const makeVolumes = (deps: HostDeps) => {
  const { db, host, settings } = deps;

  /** Creates in the first region that has room; a volume's region is where its machine will be. */
  const create = async (agent: Agent, signal: AbortSignal): Promise<void> => {
    const regions = agent.region === null ? settings.regions : [agent.region];
    for (const [index, region] of regions.entries()) {
      try {
        const volume = { name: volumeNameOf(agent.id), region, sizeGb: settings.volumeGb };
        await orFound(host.createVolume(appOf(agent), volume, signal), async () =>
          chooseVolume(await volumesOf(host, agent, signal)),
        );
        return;
      } catch (error) {
        if (!isFull(error) || index === regions.length - 1) throw error;
      }
    }
  };

  /**
   * The volume with the agent's data: by its id, else by its exact name. Fails closed: an empty volume mounted over a user's data
   * would be the worst of all repairs.
   */
  const requireVolume = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<Agent> => {
    const volumes = await volumesOf(host, agent, signal);
    if (volumes.some((volume) => volume.id === agent.hostVolumeId)) return agent;
    const volume = chooseVolume(volumes);
    if (!volume)
      throw new VendorError('conflict', 'host: the volume with the data of the agent is gone', { retryable: false });
    return changeHeldAgent(db, jobId, agent.id, { hostVolumeId: volume.id, region: volume.region });
  };

  const ensureVolume = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<Agent> => {
    if (mayHoldData(agent)) return requireVolume(agent, jobId, signal);
    if ((await volumesOf(host, agent, signal)).length === 0) await create(agent, signal);
    // Names are not unique at the host: look again, keep one, remove what a lost reply left beside it. An attempt that failed at
    // the removal has stored the one it keeps.
    const volumes = await volumesOf(host, agent, signal);
    const volume = volumes.find(({ id }) => id === agent.hostVolumeId) ?? chooseVolume(volumes);
    if (!volume) throw new VendorError('upstream_failed', 'host: the new volume is not listed', { retryable: true });
    const changed = await changeHeldAgent(db, jobId, agent.id, { hostVolumeId: volume.id, region: volume.region });
    for (const other of volumes)
      if (other.id !== volume.id && other.attachedMachineId === null)
        await host.deleteVolume(appOf(agent), other.id, signal);
    return changed;
  };

  /**
   * A new volume in the next region with room, in place of one whose region has none for the machine. Only for a volume that nothing
   * was ever attached to; undefined when there is no further region.
   */
  const moveOn = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<Agent | undefined> => {
    for (const region of settings.regions.slice(settings.regions.indexOf(agent.region ?? '') + 1)) {
      const moved = await changeHeldAgent(db, jobId, agent.id, { hostVolumeId: null, region });
      for (const volume of await volumesOf(host, agent, signal)) {
        if (volume.attachedMachineId !== null)
          throw new VendorError('conflict', 'host: a volume of the app is in use', { retryable: false });
        await host.deleteVolume(appOf(agent), volume.id, signal);
      }
      try {
        return await ensureVolume(moved, jobId, signal);
      } catch (error) {
        if (!isFull(error)) throw error;
      }
    }
    return undefined;
  };

  return { ensureVolume, requireVolume, moveOn };
};
