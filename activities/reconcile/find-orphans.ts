import { Agent } from '../../src/models/agent.js';
import type { OrphanNote } from '../../src/models/host-orphan.js';
import type { OrgMachine, OrgVolume } from '../../src/providers/host/host.js';
import { agentIdOfApp, agentIdOfVolume } from '../../src/rules/host-name.js';
import { isGoing } from '../host/deps.js';
import { isVolumeGoing } from '../host/volumes.js';
import type { ReconcileDeps, ReconcileReport } from './deps.js';
import type { Looks } from './look.js';

/** Collects, app by app, what a full sweep shows of ours that belongs to no agent. */
export const findOrphans = ({ db, host, settings }: ReconcileDeps, report: ReconcileReport) => {
  const notes = new Map<string, OrphanNote>();
  const noteOf = (appName: string, agentId: string | null): OrphanNote => {
    const note = notes.get(appName) ?? { appName, agentId, machineIds: [], volumeIds: [] };
    notes.set(appName, note);
    return note;
  };

  const takeVolumePage = async (volumes: OrgVolume[], look: Looks): Promise<void> => {
    const ours = volumes.filter(
      (volume) =>
        !isVolumeGoing(volume) &&
        agentIdOfVolume(volume.name) !== undefined &&
        agentIdOfVolume(volume.name) === agentIdOfApp(settings.installationId, volume.appName),
    );
    const agents = await Agent.query(db).findByIds(ours.map(({ name }) => agentIdOfVolume(name) ?? ''));
    const alive = new Set(agents.filter(({ deletedAt }) => deletedAt === null).map(({ id }) => id));
    for (const { id, name, appName } of ours) {
      const agentId = agentIdOfVolume(name) ?? '';
      if (!alive.has(agentId)) noteOf(appName, agentId).volumeIds.push(id);
    }
    // A row that has lost the id of its volume finds it again.
    await look(
      agents.filter(
        (agent) =>
          alive.has(agent.id) &&
          agent.hostVolumeId === null &&
          agent.provisionedAt !== null &&
          agent.activeJobId === null &&
          agent.holderJobId === null,
      ),
    );
  };

  return {
    /** Machines with our tags whose agent is not among those alive, or that stand in an app which is not the agent's. */
    takeMachines(machines: OrgMachine[], alive: Map<string, Agent>): void {
      for (const machine of machines) {
        const agentId = machine.metadata['acp_agent_id'] ?? null;
        const agent = alive.get(agentId ?? '');
        if (isGoing(machine) || agent?.hostName === machine.appName) continue;
        noteOf(machine.appName, agentId).machineIds.push(machine.id);
      }
    },

    /** Reads the list of all volumes; returns the regions that did not answer. */
    async takeVolumes(look: Looks, signal: AbortSignal): Promise<string[]> {
      const silent: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await host.listOrgVolumes({ cursor }, signal);
        report.hostCalls++;
        silent.push(...page.errorRegions);
        await takeVolumePage(page.volumes, look);
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      return silent;
    },

    found(): OrphanNote[] {
      report.orphans = notes.size;
      return [...notes.values()];
    },
  };
};
