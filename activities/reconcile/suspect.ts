import type { Agent } from '../../src/models/agent.js';
import type { OrgMachine } from '../../src/providers/host/host.js';

/** Whether what the list says of an agent's machines is news: then the machine itself is looked at, for lists may be behind. */
export const isSuspect = (agent: Agent, listed: OrgMachine[]): boolean => {
  const known = listed.find((machine) => machine.id === agent.hostMachineId);
  const hasAnother = listed.some((machine) => machine.id !== agent.hostMachineId && machine.state !== 'destroyed');
  if (!known) return hasAnother;
  const { machine, machineUpdatedAt } = agent;
  if (machine === null) return hasAnother || known.state !== 'destroyed';
  const changedAt = known.updatedAt === null ? undefined : Date.parse(known.updatedAt);
  if (machineUpdatedAt !== null && changedAt !== undefined) {
    if (changedAt < machineUpdatedAt.getTime()) return hasAnother; // seen later than this was listed
    // The same state again, and yet a change: it may have restarted.
    if (changedAt > machineUpdatedAt.getTime()) return true;
  }
  return hasAnother || known.state !== machine.state || known.region !== machine.region;
};
