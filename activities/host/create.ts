import { Agent, changeHeldAgent, NotHolder } from '../../src/models/agent.js';
import { makeMachineCredentials } from '../../src/models/machine-credentials.js';
import type { HostMachine } from '../../src/providers/host/host.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { isStill } from '../../src/rules/observe.js';
import { jobActivity, type StepInput } from '../job-activity.js';
import { gatewayUrlOf, machineConfigOf } from '../machine-config.js';
import {
  appOf,
  explainingCapacity,
  type HostDeps,
  isFull,
  isGoing,
  noRoom,
  orFound,
  pickMachine,
  readBackOnConflict,
  runtimeOf,
  seenOf,
  toAgent,
} from './deps.js';
import { makeVolumes, mayHoldData } from './ensure-volume.js';

/** What makes an agent's resources at the host. Each looks before it creates, so that running again finds what the run before left. */
export const makeCreateActivities = (deps: HostDeps) => {
  const { db, host, keys, settings } = deps;

  const { ensureVolume, requireVolume, moveOn } = makeVolumes(deps);

  const updateMachine = async (agent: Agent, present: HostMachine, signal: AbortSignal): Promise<HostMachine> => {
    const runtime = await runtimeOf(deps, agent);
    const update = {
      config: machineConfigOf(agent, runtime.id, settings),
      currentVersion: present.version,
      minSecretsVersion: agent.hostSecretsVersion ?? 0,
    };
    return readBackOnConflict(explainingCapacity(agent, host.updateMachine(appOf(agent), present.id, update, signal)));
  };

  const createMachine = async (agent: Agent, signal: AbortSignal): Promise<HostMachine> => {
    const runtime = await runtimeOf(deps, agent);
    const machine = {
      name: agent.hostName,
      region: agent.region ?? settings.regions[0] ?? '',
      config: machineConfigOf(agent, runtime.id, settings),
      minSecretsVersion: agent.hostSecretsVersion ?? 0,
    };
    return orFound(host.createMachine(appOf(agent), machine, signal), async () =>
      pickMachine(agent, await host.listMachines(appOf(agent), signal)),
    );
  };

  /** Where the volume is; when there is no room and the volume has never been used, in the next region, with a new volume. */
  const createWhereThereIsRoom = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<HostMachine> => {
    try {
      return await createMachine(agent, signal);
    } catch (error) {
      if (!isFull(error)) throw error;
      const moved = mayHoldData(agent) ? undefined : await moveOn(agent, jobId, signal);
      if (!moved) throw noRoom(agent);
      return createWhereThereIsRoom(moved, jobId, signal);
    }
  };

  /**
   * The machine of the agent's name, else a new one. One that lies switched off, or runs with an identity of before, gets the new
   * credentials; who waits for it switches it on.
   */
  const findOrCreateMachine = async (agent: Agent, jobId: string, signal: AbortSignal): Promise<void> => {
    const machines = await host.listMachines(appOf(agent), signal);
    const there = pickMachine(agent, machines);
    // Until it has gone it keeps its name and the volume.
    if (!there && machines.some((machine) => machine.state === 'destroying'))
      throw new VendorError('conflict', 'host: the machine before is still going', { retryable: true });
    const machine = there ?? (await createWhereThereIsRoom(agent, jobId, signal));
    const changed = await changeHeldAgent(db, jobId, agent.id, { hostMachineId: machine.id, ...seenOf(machine) });
    const isOfBefore = there?.metadata['acp_generation'] !== String(agent.generation);
    if (there && (isOfBefore || isStill(there.state))) await updateMachine(changed, there, signal);
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
      await ensureVolume(await toAgent(deps, input), input.jobId, signal);
    }),

    /**
     * Hands a bootstrap token of this job to the host, with the gateway token: every start begins with fresh credentials. The token is
     * derived from the job, so that an attempt believed dead, which comes back when the machine has booted, hands over the same.
     */
    setHostSecrets: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const { runtimeVersion } = settings;
      const secrets = await db.transaction((trx) =>
        makeMachineCredentials(trx, keys, { jobId: input.jobId, agent, runtimeVersion }),
      );
      const hostSecretsVersion = await host.setSecrets(appOf(agent), { ...secrets }, signal);
      await changeHeldAgent(db, input.jobId, agent.id, { hostSecretsVersion });
    }),

    createHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      // An attempt that was on its way to the next region may have left none.
      const agent = await ensureVolume(await toAgent(deps, input), input.jobId, signal);
      await findOrCreateMachine(agent, input.jobId, signal);
    }),

    /**
     * Gives the machine its present configuration and secrets. A running machine is restarted by the host, a stopped one stays
     * stopped; one that the host says is gone (404) is found again by its name, or replaced, with the same volume.
     */
    configureHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const found = await toAgent(deps, input);
      const present = found.hostMachineId && (await host.findMachine(appOf(found), found.hostMachineId, signal));
      const isThere = present && !isGoing(present);
      // A configuration without the volume would take the data from the machine.
      const agent = isThere && found.hostVolumeId !== null ? found : await requireVolume(found, input.jobId, signal);
      if (!isThere) return findOrCreateMachine(agent, input.jobId, signal);
      const machine = await updateMachine(agent, present, signal);
      await changeHeldAgent(db, input.jobId, agent.id, seenOf(machine));
    }),
  };
};
