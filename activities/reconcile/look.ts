import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '@temporalio/activity';
import type { Agent } from '../../src/models/agent.js';
import { noteSeen, type Sight, writeObserved } from '../../src/models/observed-agent.js';
import type { HostMachine } from '../../src/providers/host/host.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { isStill, observe } from '../../src/rules/observe.js';
import { appOf, isGoing, listMachinesIfAny, pickMachine, seenOf } from '../host/deps.js';
import { chooseVolume, volumesOf } from '../host/volumes.js';
import { gatewayUrlOf } from '../machine-config.js';
import type { ReconcileDeps, ReconcileReport } from './deps.js';
import { inLanes } from './in-lanes.js';

/** Looks at the same time. */
const LANES = 5;
/** Looks of one pass that may fail before the host counts as out of order and the pass ends. */
const MOST_FAILURES = 10;
/** A gateway that an owner relies on gets a second chance before it counts as down. */
const AGAIN_MS = 1_000;

/** Words of the host for a machine that lives on under another id. */
const leftStates = new Set(['migrated', 'replaced']);

/** Single looks: at the machine itself, which unlike the list is never behind the truth, and at its gateway. */
export const makeLooks = (deps: ReconcileDeps, report: ReconcileReport, signal: AbortSignal) => {
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

  /** The id of a volume of exactly the agent's name. Anything unclear is left to a start, which fails closed. */
  const lostVolume = async (agent: Agent): Promise<Sight['adopted']> => {
    report.hostCalls++;
    const volume = chooseVolume(await volumesOf(host, agent, signal));
    return volume ? { hostVolumeId: volume.id } : {};
  };

  const adopt = async (agent: Agent, machine: HostMachine): Promise<Sight['adopted']> => {
    const volume = agent.hostVolumeId === null ? await lostVolume(agent) : {};
    if (machine.id === agent.hostMachineId && machine.region === agent.region) return volume;
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

  const see = async (agent: Agent): Promise<Sight> => {
    const machine = await find(agent);
    if (!machine)
      return { observed: observe(agent, 'gone'), machine: null, machineUpdatedAt: null, gatewayReady: false };
    const adopted = await adopt(agent, machine);
    const url = adopted?.gatewayUrl ?? agent.gatewayUrl;
    const gatewayReady = !isStill(machine.state) && typeof url === 'string' && (await ask(agent, url));
    const observed = observe(agent, { state: machine.state, gatewayReady });
    const seen = seenOf(machine);
    return { observed, gatewayReady, ...seen, ...(adopted && { adopted }) };
  };

  /** Looks at each of these agents' machines and writes what changed. A look that fails leaves its agent as it is. */
  return async (agents: Agent[]): Promise<void> => {
    const [unchanged, asked, failed]: [string[], string[], string[]] = [[], [], []];
    await inLanes(agents, LANES, async (agent) => {
      try {
        const sight = await see(agent);
        if (await writeObserved(db, agent, sight)) report.changed++;
        else {
          unchanged.push(agent.id);
          if (sight.gatewayReady !== undefined) asked.push(agent.id);
        }
      } catch (error) {
        if (!(error instanceof VendorError) || ++report.failed > MOST_FAILURES) throw error;
        log.warn('could not look at a machine', { agentId: agent.id, code: error.code });
        failed.push(agent.id);
      }
    });
    await noteSeen(db, { unchanged, asked, failed });
  };
};

export type Looks = ReturnType<typeof makeLooks>;
