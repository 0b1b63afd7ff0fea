import { Agent, changeHeldAgent, NotHolder } from '../../src/models/agent.js';
import { gatewayTokenForMachine } from '../../src/models/gateway-token.js';
import { ensureRuntimeIdentity, mintBootstrapToken } from '../../src/models/runtime-identity.js';
import type { HostVolume } from '../../src/providers/host/host.js';
import { VendorError } from '../../src/providers/vendor-error.js';
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

const goneVolumeStates = new Set(['scheduling_destroy', 'pending_destroy']);

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
        await host.createVolume(appOf(agent), volume, signal);
        return;
      } catch (error) {
        const full = error instanceof VendorError && error.code === 'host_capacity';
        if (!full || index === regions.length - 1) throw error;
      }
    }
  };

  return {
    createHostApp: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const found = await host.findApp(agent.hostName, signal);
      if (found === 'taken')
        throw new VendorError('conflict', 'host: the name of the app is taken', { retryable: false });
      if (found === 'free') await host.createApp(agent.hostName, signal);
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
      if (agent.hostVolumeId !== null) return;
      if ((await volumesOf(agent, signal)).length === 0) await createVolume(agent, signal);
      // Names are not unique at the host: look again, keep one, remove what a lost reply left beside it.
      const volumes = await volumesOf(agent, signal);
      const volume = chooseVolume(volumes);
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
        const runtime = await ensureRuntimeIdentity(trx, agent, settings.runtimeVersion);
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
      const app = appOf(agent);
      const runtime = await runtimeOf(deps, agent);
      // From here on a machine may exist that mounts the volume, whether or not we ever hear of it.
      await changeHeldAgent(db, input.jobId, agent.id, { volumeAttachedAt: agent.volumeAttachedAt ?? new Date() });
      const config = machineConfigOf(agent, runtime.id, settings);
      const minSecretsVersion = agent.hostSecretsVersion ?? 0;
      const there = pickMachine(agent, await host.listMachines(app, signal));
      const region = agent.region ?? settings.regions[0] ?? '';
      const machine =
        there ??
        (await readBackOnConflict(
          host.createMachine(app, { name: agent.hostName, region, config, minSecretsVersion }, signal),
        ));
      await changeHeldAgent(db, input.jobId, agent.id, { hostMachineId: machine.id, machine: snapshotOf(machine) });
      // One that an earlier provision left behind switched off gets the new credentials; who waits for it switches it on.
      if (there && stillStates.has(there.state)) {
        const update = { config, currentVersion: there.version, minSecretsVersion };
        await readBackOnConflict(host.updateMachine(app, there.id, update, signal));
      }
    }),

    /** Gives the machine its present configuration and secrets. A running machine is restarted by the host, a stopped one stays stopped. */
    configureHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const runtime = await runtimeOf(deps, agent);
      const app = appOf(agent);
      const id = agent.hostMachineId ?? '';
      const present = await host.findMachine(app, id, signal);
      if (!present) throw new VendorError('not_found', 'host: the machine is gone', { retryable: false });
      const machine = await readBackOnConflict(
        host.updateMachine(
          app,
          id,
          {
            config: machineConfigOf(agent, runtime.id, settings),
            currentVersion: present.version,
            minSecretsVersion: agent.hostSecretsVersion ?? 0,
          },
          signal,
        ),
      );
      await changeHeldAgent(db, input.jobId, agent.id, { machine: snapshotOf(machine) });
    }),
  };
};
