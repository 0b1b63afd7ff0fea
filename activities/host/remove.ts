import { type Agent, changeHeldAgent } from '../../src/models/agent.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { volumeNameOf } from '../../src/rules/host-name.js';
import { jobActivity, type StepInput } from '../job-activity.js';
import {
  appOf,
  type HostDeps,
  listMachinesIfAny,
  pickMachine,
  readBackOnConflict,
  seenOf,
  toAgent,
  toleratingAbsence,
} from './deps.js';

/** What takes an agent's resources away. All of it tolerates absence. */
export const makeRemoveActivities = (deps: HostDeps) => {
  const { db, host } = deps;

  /** Whether the agent's app is at the host. One that we made and may not look at is not gone: our token is wrong. */
  const isThere = async (agent: Agent, signal: AbortSignal): Promise<boolean> => {
    const found = await host.findApp(appOf(agent), signal);
    if (found === 'taken' && agent.hostAppName !== null)
      throw new VendorError('vendor_misconfigured', 'host: refused to show the app', { retryable: false });
    return found === 'ours';
  };

  /** Gone is when the host says so. */
  const deleteAppUntilGone = async (agent: Agent, signal: AbortSignal): Promise<void> => {
    const app = appOf(agent);
    if (!(await isThere(agent, signal))) return;
    await readBackOnConflict(host.deleteApp(app, signal));
    if ((await host.findApp(app, signal)) === 'ours')
      throw new VendorError('conflict', 'host: the app is still there', { retryable: true });
  };

  return {
    /**
     * Undoes a provision that did not finish. Once a machine may have mounted the volume nothing is destroyed: the machine is
     * stopped and kept, for `start` to repair. Before that, volume and app go.
     */
    undoProvision: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      const machine = pickMachine(agent, await listMachinesIfAny(deps, agent.hostName, signal));
      if (machine) {
        await readBackOnConflict(host.stopMachine(agent.hostName, machine.id, signal)).catch(toleratingAbsence);
        await changeHeldAgent(db, input.jobId, agent.id, {
          hostMachineId: machine.id,
          ...seenOf((await host.findMachine(agent.hostName, machine.id, signal)) ?? machine),
          provisionedAt: agent.provisionedAt ?? new Date(),
          gatewayReady: false,
        });
        return;
      }
      if (agent.provisionedAt !== null || agent.hostMachineId !== null) return;
      await removeUnattached(agent, signal);
      await changeHeldAgent(db, input.jobId, agent.id, {
        hostAppName: null,
        hostVolumeId: null,
        hostSecretsVersion: null,
        gatewayUrl: null,
        region: null,
        machine: null,
      });
    }),

    deleteHostMachine: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      for (const machine of await listMachinesIfAny(deps, appOf(agent), signal))
        await readBackOnConflict(host.deleteMachine(appOf(agent), machine.id, signal));
      await changeHeldAgent(db, input.jobId, agent.id, { machine: null, gatewayReady: false });
    }),

    /** With the app its volumes go, and the data on them: only the deletion of the agent comes here. */
    deleteHostApp: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const agent = await toAgent(deps, input);
      await deleteAppUntilGone(agent, signal);
      await changeHeldAgent(db, input.jobId, agent.id, { hostAppName: null, hostVolumeId: null, hostMachineId: null });
    }),
  };

  /** Volumes first, and only unattached ones: if one turns out to be in use, the app stays. */
  async function removeUnattached(agent: Agent, signal: AbortSignal): Promise<void> {
    const [app, volumeName] = [appOf(agent), volumeNameOf(agent.id)];
    if (!(await isThere(agent, signal))) return;
    for (const volume of await host.listVolumes(app, signal)) {
      if (volume.attachedMachineId !== null || volume.name !== volumeName)
        throw new VendorError('conflict', 'host: a volume of the app is in use', { retryable: false });
      await readBackOnConflict(host.deleteVolume(app, volume.id, signal));
    }
    await deleteAppUntilGone(agent, signal);
  }
};
