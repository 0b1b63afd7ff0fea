import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, log } from '@temporalio/activity';
import { isUnavailable } from '../../src/db/knex.js';
import type { Agent } from '../../src/models/agent.js';
import { noteSeen, type Seen, type Sight, writeObserved } from '../../src/models/observed-agent.js';
import type { HostMachine } from '../../src/providers/host/host.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { isStill, observe } from '../../src/rules/observe.js';
import { appOf, isGoing, listMachinesIfAny, pickMachine, seenOf } from '../host/deps.js';
import { chooseVolume, volumesOf } from '../host/volumes.js';
import { gatewayUrlOf } from '../machine-config.js';
import type { ReconcileDeps, ReconcileReport } from './deps.js';
import { inLanes } from './in-lanes.js';
import type { Silence } from './silence.js';

/** Looks at the same time. */
const LANES = 5;
/** A gateway that an owner relies on gets a second chance before it counts as down. */
const AGAIN_MS = 1_000;

/** Words of the host for a machine that lives on under another id. */
const leftStates = new Set(['migrated', 'replaced']);

interface LookOptions {
  /** How many may be looked at; the rest is left. */
  most?: number;
  /** Looks at the same time. */
  lanes?: number;
  /** A look that fails is owed to the agent: nothing else would tell of the change at its machine. */
  isOwed?: boolean;
}

/** Single looks: at the machine itself, which unlike the list is never behind the truth, and at its gateway. */
export const makeLooks = (deps: ReconcileDeps, report: ReconcileReport, silence: Silence, signal: AbortSignal) => {
  const { db, host, gateway, settings } = deps;

  const ask = async (agent: Agent, url: string): Promise<boolean> => {
    if (await gateway.isReady(url, signal)) return true;
    if (agent.status !== 'online') return false;
    await sleep(AGAIN_MS, undefined, { signal });
    return gateway.isReady(url, signal);
  };

  /** The machine the row names; when that is gone, or the row names none, what else there is in the app under our name or tags. */
  const find = async (agent: Agent): Promise<HostMachine | undefined> => {
    const { hostMachineId } = agent;
    if (hostMachineId !== null) report.hostCalls++;
    const known = hostMachineId === null ? undefined : await host.findMachine(appOf(agent), hostMachineId, signal);
    if (known && !isGoing(known) && !leftStates.has(known.state)) return known;
    report.hostCalls++;
    const others = await listMachinesIfAny(deps, appOf(agent), signal);
    const other = pickMachine(
      agent,
      others.filter(({ id }) => id !== hostMachineId),
    );
    return other ?? (known && isGoing(known) ? undefined : known);
  };

  /** The id of a volume of exactly the agent's name. Anything unclear (undefined) is left to a start, which fails closed. */
  const lostVolume = async (agent: Agent): Promise<Sight['adopted']> => {
    report.hostCalls++;
    const volumes = await volumesOf(host, agent, signal);
    try {
      const volume = chooseVolume(volumes);
      return volume ? { hostVolumeId: volume.id } : {};
    } catch (error) {
      if (!(error instanceof VendorError)) throw error;
      log.error('two volumes of an agent may hold its data', {
        agentId: agent.id,
        volumeIds: volumes.map(({ id }) => id),
      });
      return undefined;
    }
  };

  /** What the row does not say yet; undefined when it cannot be told which machine is the agent's. */
  const adopt = async (agent: Agent, machine: HostMachine): Promise<Sight['adopted']> => {
    const volume = agent.hostVolumeId === null ? await lostVolume(agent) : {};
    if (machine.id === agent.hostMachineId && machine.region === agent.region) return volume ?? {};
    if (volume === undefined) return undefined;
    log.info('adopted a machine', { agentId: agent.id, machineId: machine.id, before: agent.hostMachineId });
    return {
      ...volume,
      hostAppName: appOf(agent),
      gatewayUrl: agent.gatewayUrl ?? gatewayUrlOf(settings, appOf(agent)),
      hostMachineId: machine.id,
      region: machine.region,
      provisionedAt: agent.provisionedAt ?? new Date(),
    };
  };

  const see = async (agent: Agent): Promise<Sight | undefined> => {
    const machine = await find(agent);
    if (!machine)
      return { observed: observe(agent, 'gone'), machine: null, machineUpdatedAt: null, gatewayReady: false };
    const adopted = await adopt(agent, machine);
    if (adopted === undefined) return undefined;
    const url = adopted.gatewayUrl ?? agent.gatewayUrl;
    const gatewayReady = !isStill(machine.state) && typeof url === 'string' && (await ask(agent, url));
    const observed = observe(agent, { state: machine.state, gatewayReady });
    const seen = seenOf(machine);
    return { observed, gatewayReady, ...seen, adopted };
  };

  /** Reasons to fail that lie in no single agent: the database is away, the attempt is canceled or no longer ours. */
  const concernsAll = (error: unknown): boolean =>
    signal.aborted || isUnavailable(error) || error instanceof ApplicationFailure;

  /**
   * Looks at each of these agents' machines and writes what changed; none in a region that has fallen silent. A look that fails leaves
   * its agent as it is. Returns how many were looked at, and how many were left over.
   */
  return async (
    agents: Agent[],
    { most = Infinity, lanes = LANES, isOwed = false }: LookOptions = {},
  ): Promise<{ looked: number; left: number }> => {
    const seen: Seen = { unchanged: [], asked: [], failed: [], skipped: [] };
    let [looked, left] = [0, 0];

    const lookAt = async (agent: Agent): Promise<void> => {
      const sight = await see(agent);
      if (sight && (await writeObserved(db, agent, sight))) report.changed++;
      else {
        seen.unchanged.push(agent.id);
        if (sight?.gatewayReady !== undefined) seen.asked.push(agent.id);
      }
    };

    const work = async (agent: Agent): Promise<void> => {
      signal.throwIfAborted();
      if (silence.isSilent(agent)) {
        report.skipped++;
        seen.skipped.push(agent.id);
        return;
      }
      if (looked >= most) {
        left++;
        return;
      }
      looked++;
      try {
        await lookAt(agent);
      } catch (error) {
        if (concernsAll(error)) throw error;
        report.failed++;
        silence.noteFailure(agent);
        const code = error instanceof VendorError ? error.code : String(error);
        log.warn('could not look at a machine', { agentId: agent.id, code });
        seen.failed.push(agent.id);
      }
    };

    try {
      await inLanes(agents, lanes, work);
    } finally {
      // Also when the pass fails, so that the next one begins elsewhere.
      await noteSeen(db, seen, isOwed);
    }
    return { looked, left };
  };
};

export type Looks = ReturnType<typeof makeLooks>;
