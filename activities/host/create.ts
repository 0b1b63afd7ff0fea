import { Agent, changeHeldAgent, heldAgentForUpdate, NotHolder } from '../../src/models/agent.js';
import { gatewayTokenForMachine } from '../../src/models/gateway-token.js';
import { ensureRuntimeIdentity, mintBootstrapToken } from '../../src/models/runtime-identity.js';
import type { HostMachine, HostVolume } from '../../src/providers/host/host.js';
import { hasStatus, VendorError } from '../../src/providers/vendor-error.js';
import { jobActivity, type StepInput } from '../job-activity.js';
import { gatewayUrlOf, machineConfigOf, volumeNameOf } from '../machine-config.js';
import {
  appOf,
  type HostDeps,
  pickMachine,
  readBackOnConflict,
  runtimeOf,
  snapshotOf,
  stillStates,
  toAgent,
} from './deps.js';

/** Of several volumes of one name the attached one counts, else the oldest. */
const chooseVolume = (volumes: HostVolume[]): HostVolume | undefined => {
  const attached = volumes.filter((volume) => volume.attachedMachineId !== null);
  if (attached.length > 1)
    throw new VendorError('conflict', 'host: two volumes of the agent hold data', { retryable: false });
  return attached[0] ?? volumes.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))[0];
};

const goneMachineStates = new Set(['destroyed', 'destroying']);
const goneVolumeStates = new Set(['scheduling_destroy', 'pending_destroy']);

/** A create that the host refuses as a duplicate: an attempt whose reply was lost has made it. Look once more before giving up. */
const orFound = async <T>(create: Promise<T>, find: () => Promise<T | undefined>): Promise<T> => {
  try {
    return await create;
  } catch (error) {
    const found = hasStatus(error, 409, 412, 422) ? await find() : undefined;
    if (found === undefined) throw error;
    return found;
  }
};

/** What makes an agent's resources at the host. Each looks before it creates, so that running again finds what the run before left. */
export const makeCreateActivities = (deps: HostDeps) => {
  const { db, host, keys, settings } = deps;

  const volumesOf = async (agent: Agent, signal: AbortSignal): Promise<HostVolume[]> =>
    (await host.listVolumes(appOf(agent), signal)).filter(
      (volume) => volume.name === volumeNameOf(agent) && !goneVolumeStates.has(volume.state),
    );

  /** Creates in the first region that has room; a volume's region is where its machine will be. */
  const createVolume = async (agent: Agent, signal: AbortSignal): Promise<void> => {
    const regions = agent.region === null ? settings.regions : [agent.region];
    for (const [index, region] of regions.entries()) {
      try {
        const volume = { name: volumeNameOf(agent), region, sizeGb: settings.volumeGb };
        await orFound(host.createVolume(appOf(agent), volume, signal), async () =>
          chooseVolume(await volumesOf(agent, signal)),
        );
        return;
      } catch (error) {
        const full = error instanceof VendorError && error.code === 'host_capacity';
        if (!full || index === regions.length - 1) throw error;
      }
    }
  };

  const updateMachine = async (agent: Agent, present: HostMachine, signal: AbortSignal): Promise<HostMachine> => {
    const runtime = await runtimeOf(deps, agent);
    const update = {
      config: machineConfigOf(agent, runtime.id, settings),
      currentVersion: present.version,
      minSecretsVersion: agent.hostSecretsVersion ?? 0,
    };
    return readBackOnConflict(host.updateMachine(appOf(agent), present.id, update, signal));
  };

  /**
   * The machine of the agent's name, else a new one. One that lies switched off, or runs with an identity of before, gets the new
   * credentials; who waits for it switches it on.
   */
  const findOrCreateMachine = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<void> => {
    const app = appOf(agent);
    const there = pickMachine(agent, await host.listMachines(app, signal));
    const runtime = await runtimeOf(deps, agent);
    const machine =
      there ??
      (await orFound(
        host.createMachine(
          app,
          {
            name: agent.hostName,
            region: agent.region ?? settings.regions[0] ?? '',
            config: machineConfigOf(agent, runtime.id, settings),
            minSecretsVersion: agent.hostSecretsVersion ?? 0,
          },
          signal,
        ),
        async () => pickMachine(agent, await host.listMachines(app, signal)),
      ));
    await changeHeldAgent(db, jobId, agent.id, { hostMachineId: machine.id, machine: snapshotOf(machine) });
    const isOfBefore = there?.metadata['acp_generation'] !== String(agent.generation);
    if (there && (isOfBefore || stillStates.has(there.state))) await updateMachine(agent, there, signal);
  };

  /**
   * Makes sure that the volume with the agent's data is there before a machine is made anew: by its id, else by its exact name.
   * Fails closed: an empty volume mounted over a user's data would be the worst of all repairs.
   */
  const requireVolume = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<void> => {
    const volumes = await volumesOf(agent, signal);
    if (volumes.some((volume) => volume.id === agent.hostVolumeId)) return;
    const volume = chooseVolume(volumes);
    if (!volume)
      throw new VendorError('conflict', 'host: the volume with the data of the agent is gone', { retryable: false });
    await changeHeldAgent(db, jobId, agent.id, { hostVolumeId: volume.id, region: volume.region });
  };

  return {
    createHostApp: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const found = await host.findApp(agent.hostName, signal);
      if (found === 'taken')
        throw new VendorError('conflict', 'host: the name of the app is taken', { retryable: false });
      if (found === 'free') {
        const isOurs = async () => ((await host.findApp(agent.hostName, signal)) === 'ours' ? true : undefined);
        await orFound(
          host.createApp(agent.hostName, signal).then(() => true),
          isOurs,
        );
      }
      try {
        const gatewayUrl = gatewayUrlOf(settings, agent.hostName);
        await changeHeldAgent(db, input.jobId, agent.id, { hostAppName: agent.hostName, gatewayUrl });
      } catch (error) {
        // The agent was deleted while this attempt slept: what it has just made must not outlive the agent.
        const deleted = error instanceof NotHolder && (await Agent.query(db).findById(agent.id))?.deletedAt;
        if (deleted && found === 'free') await host.deleteApp(agent.hostName, signal);
        throw error;
      }
    }),

    createHostVolume: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const known = agent.hostVolumeId;
      if (known === null && (await volumesOf(agent, signal)).length === 0) await createVolume(agent, signal);
      // Names are not unique at the host: look again, keep one, remove what a lost reply left beside it. An attempt that failed at
      // the removal has stored the one it keeps.
      const volumes = await volumesOf(agent, signal);
      const volume = known === null ? chooseVolume(volumes) : volumes.find(({ id }) => id === known);
      if (!volume && known !== null) return; // lost: not this step's to replace
      if (!volume) throw new VendorError('upstream_failed', 'host: the new volume is not listed', { retryable: true });
      await changeHeldAgent(db, input.jobId, agent.id, { hostVolumeId: volume.id, region: volume.region });
      for (const other of volumes)
        if (other.id !== volume.id && other.attachedMachineId === null)
          await host.deleteVolume(appOf(agent), other.id, signal);
    }),

    /** Mints a bootstrap token and hands it to the host with the gateway token: every start begins with fresh credentials. */
    setHostSecrets: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const secrets = await db.transaction(async (trx) => {
        // Whoever was superseded, by a deletion above all, hands out no credentials any more.
        const held = await heldAgentForUpdate(trx, input.jobId, agent.id);
        const runtime = await ensureRuntimeIdentity(trx, held, settings.runtimeVersion);
        return {
          ACP_BOOTSTRAP_TOKEN: await mintBootstrapToken(trx, runtime.id),
          ACP_GATEWAY_TOKEN: await gatewayTokenForMachine(trx, keys, agent.id),
        };
      });
      const hostSecretsVersion = await host.setSecrets(appOf(agent), secrets, signal);
      await changeHeldAgent(db, input.jobId, agent.id, { hostSecretsVersion });
    }),

    createHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      await findOrCreateMachine(agent, input.jobId, signal);
    }),

    /**
     * Gives the machine its present configuration and secrets. A running machine is restarted by the host, a stopped one stays
     * stopped; one that the host says is gone (404) is found again by its name, or replaced, with the same volume.
     */
    configureHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const present = agent.hostMachineId && (await host.findMachine(appOf(agent), agent.hostMachineId, signal));
      if (!present || goneMachineStates.has(present.state)) {
        await requireVolume(agent, input.jobId, signal);
        return findOrCreateMachine(await toAgent(deps, input), input.jobId, signal);
      }
      const machine = await updateMachine(agent, present, signal);
      await changeHeldAgent(db, input.jobId, agent.id, { machine: snapshotOf(machine) });
    }),
  };
};
