import type { Db } from '../../src/db/knex.js';
import { type Agent, heldAgent } from '../../src/models/agent.js';
import type { KeyRing } from '../../src/models/key-ring.js';
import { RuntimeIdentity } from '../../src/models/runtime-identity.js';
import type { Host, HostMachine } from '../../src/providers/host/host.js';
import type { MachineGateway } from '../../src/providers/machine-gateway.js';
import { hasStatus, VendorError } from '../../src/providers/vendor-error.js';
import type { AgentJobInput } from '../job-activity.js';
import type { MachineSettings } from '../machine-config.js';

export interface HostDeps {
  db: Db;
  host: Host;
  gateway: MachineGateway;
  keys: KeyRing;
  settings: MachineSettings;
}

/** What is kept of a machine in its agent's row, and shown by GET …/status. */
export const snapshotOf = (machine: HostMachine): NonNullable<Agent['machine']> => ({
  id: machine.id,
  state: machine.state,
  region: machine.region,
  createdAt: machine.createdAt,
  checks: machine.checks,
});

/** What a job's activity writes of a machine that it has seen. */
export const seenOf = (machine: HostMachine): Pick<Agent, 'machine' | 'machineUpdatedAt'> => ({
  machine: snapshotOf(machine),
  machineUpdatedAt: machine.updatedAt === null ? null : new Date(machine.updatedAt),
});

export const toAgent = (deps: HostDeps, { jobId, agentId }: AgentJobInput): Promise<Agent> =>
  heldAgent(deps.db, jobId, agentId);

/** The app that the agent's row names; a step that needs it comes after the one that made it. */
export const appOf = (agent: Agent): string => agent.hostAppName ?? agent.hostName;

export const runtimeOf = (deps: HostDeps, agent: Agent): Promise<RuntimeIdentity> =>
  RuntimeIdentity.query(deps.db)
    .findOne({ agentId: agent.id, generation: agent.generation })
    .throwIfNotFound()
    .execute();

/** A stale version (409) or a swap under way (412) is read back and decided again by the next attempt. */
export const readBackOnConflict = async <T>(effect: Promise<T>): Promise<T> => {
  try {
    return await effect;
  } catch (error) {
    if (hasStatus(error, 409, 412))
      throw new VendorError('conflict', 'host: busy with the machine', { retryable: true });
    throw error;
  }
};

/** A create that the host refuses as a duplicate: an attempt whose reply was lost has made it. Look once more before giving up. */
export const orFound = async <T>(create: Promise<T>, find: () => Promise<T | undefined>): Promise<T> => {
  try {
    return await create;
  } catch (error) {
    const found = hasStatus(error, 409, 412, 422) ? await find() : undefined;
    if (found === undefined) throw error;
    return found;
  }
};

export const isFull = (error: unknown): boolean => error instanceof VendorError && error.code === 'host_capacity';

/** What its owner reads when there is no room. */
export const noRoom = (agent: Agent): VendorError =>
  new VendorError(
    'host_capacity',
    agent.provisionedAt === null
      ? 'There is no room for a machine in any region. Try again later.'
      : `There is no room for the machine in ${agent.region ?? 'its region'}, where its data is. Start it again later.`,
    { retryable: false },
  );

export const explainingCapacity = async <T>(agent: Agent, effect: Promise<T>): Promise<T> => {
  try {
    return await effect;
  } catch (error) {
    throw isFull(error) ? noRoom(agent) : error;
  }
};

export const isGoing = (machine: { state: string }): boolean => ['destroyed', 'destroying'].includes(machine.state);

/**
 * The agent's machine among those of its app: the one whose id is known, else the one of its name, else the only one that carries
 * its id as a tag (the host may have moved it).
 */
export const pickMachine = (agent: Agent, machines: HostMachine[]): HostMachine | undefined => {
  const there = machines.filter((machine) => !isGoing(machine));
  const tagged = there.filter((machine) => machine.metadata['acp_agent_id'] === agent.id);
  return (
    there.find((machine) => machine.id === agent.hostMachineId) ??
    there.find((machine) => machine.name === agent.hostName) ??
    (tagged.length === 1 ? tagged[0] : undefined)
  );
};

/** Machines of an app; none when there is no such app. */
export const listMachinesIfAny = async (
  deps: Pick<HostDeps, 'host'>,
  app: string,
  signal: AbortSignal,
): Promise<HostMachine[]> => {
  try {
    return await deps.host.listMachines(app, signal);
  } catch (error) {
    if (hasStatus(error, 404)) return [];
    throw error;
  }
};

/** The agent's machine as the host shows it now, by its id, else among those of its app; undefined when there is none. */
export const findAgentMachine = async (
  deps: Pick<HostDeps, 'host'>,
  agent: Agent,
  signal: AbortSignal,
): Promise<HostMachine | undefined> => {
  const app = appOf(agent);
  const known =
    agent.hostMachineId === null ? undefined : await deps.host.findMachine(app, agent.hostMachineId, signal);
  if (known && !isGoing(known)) return known;
  return pickMachine(agent, await listMachinesIfAny(deps, app, signal)) ?? known;
};

/** Gone already: nothing to do. */
export const toleratingAbsence = (error: unknown): void => {
  if (!hasStatus(error, 404)) throw error;
};
