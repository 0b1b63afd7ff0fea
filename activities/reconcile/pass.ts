import { log } from '@temporalio/activity';
import { Agent } from '../../src/models/agent.js';
import { countOnline, listOwed, listStale, listUnready, listWithMachine } from '../../src/models/looked-at-agent.js';
import { noteOrphans } from '../../src/models/host-orphan.js';
import { readWatermark, writeWatermark } from '../../src/models/host-watermark.js';
import type { OrgMachine } from '../../src/providers/host/host.js';
import { staleLooks } from '../../src/rules/stale-looks.js';
import type { ReconcileDeps, ReconcileReport } from './deps.js';
import { findOrphans } from './find-orphans.js';
import { makeLooks } from './look.js';
import { makeSilence } from './silence.js';
import { isSuspect } from './suspect.js';

const BATCH = 500;
/** Every so often the whole list is compared, for what never shows up as a change. */
const FULL_SWEEP_MS = 10 * 60_000;
/** Suspects looked at in one pass; what is left is found again by the next. */
const MOST_SUSPECTS = 300;
/** Single looks of one pass beside those at suspects. */
const MOST_OWED = 50;
const MOST_UNREADY = 50;
/** Two tries at a gateway that hangs take seconds. */
const STALE_LANES = 10;
/** Agents read for them: those of a silent region cost nothing and must not take the turn of others. */
const CANDIDATES = 500;

const isHeld = (agent: Agent): boolean => agent.activeJobId !== null || agent.holderJobId !== null;

const byAgentId = (machines: OrgMachine[]): Map<string, OrgMachine[]> => {
  const groups = new Map<string, OrgMachine[]>();
  for (const machine of machines) {
    const id = machine.metadata['acp_agent_id'] ?? '';
    groups.set(id, [...(groups.get(id) ?? []), machine]);
  }
  return groups;
};

/** One pass over what changed at the host since the last one; never touches an agent with a job. */
export const reconcilePass = async (deps: ReconcileDeps, signal: AbortSignal): Promise<ReconcileReport> => {
  const { db, host, org, settings } = deps;
  const counts = { listed: 0, hostCalls: 0, changed: 0, failed: 0, skipped: 0, orphans: 0 };
  const report: ReconcileReport = { ...counts, silentRegions: [], swept: false };
  const silence = makeSilence();
  const look = makeLooks(deps, report, silence, signal);
  const orphans = findOrphans(deps, report);
  let suspects = 0;

  /** Looks at as many as may still be looked at; false when some were left. */
  const lookAt = async (agents: Agent[]): Promise<boolean> => {
    const { looked, left } = await look(agents, { most: MOST_SUSPECTS - suspects, isOwed: true });
    suspects += looked;
    return left === 0;
  };

  const takePage = async (machines: OrgMachine[], isFull: boolean): Promise<boolean> => {
    const ours = machines.filter((machine) => machine.metadata['acp_installation'] === settings.installationId);
    const listed = byAgentId(ours);
    const agents = await Agent.query(db).findByIds([...listed.keys()]);
    const alive = new Map(agents.filter(({ deletedAt }) => deletedAt === null).map((agent) => [agent.id, agent]));
    if (isFull) orphans.takeMachines(ours, alive);
    return lookAt(
      [...alive.values()].filter(
        (agent) =>
          !isHeld(agent) &&
          isSuspect(
            agent,
            (listed.get(agent.id) ?? []).filter(({ appName }) => appName === agent.hostName),
          ),
      ),
    );
  };

  /** Agents whose machine the whole list does not show. */
  const lookForVanished = async (listed: Set<string>): Promise<boolean> => {
    for (let after = ''; ;) {
      const agents = await listWithMachine(db, after, BATCH);
      if (!(await lookAt(agents.filter(({ hostMachineId }) => !listed.has(hostMachineId ?? ''))))) return false;
      const last = agents.at(-1);
      if (!last || agents.length < BATCH) return true;
      after = last.id;
    }
  };

  await look(await listOwed(db, CANDIDATES), { most: MOST_OWED, isOwed: true });
  const watermark = await readWatermark(db, org);
  const isFull = watermark.sweptAt === null || Date.now() - watermark.sweptAt.getTime() > FULL_SWEEP_MS;
  const updatedAfter = isFull ? undefined : (watermark.updatedAfter ?? undefined);
  const listed = new Set<string>();
  const silent = new Set<string>();
  let newest = watermark.updatedAfter;
  let isAllSeen = true;
  let cursor: string | undefined;
  do {
    const page = await host.listOrgMachines({ updatedAfter, cursor }, signal);
    report.hostCalls++;
    report.listed += page.machines.length;
    for (const machine of page.machines) if (machine.state !== 'destroyed') listed.add(machine.id);
    for (const region of page.errorRegions) silent.add(region);
    if (page.lastUpdatedAt && (newest === null || page.lastUpdatedAt > newest)) newest = page.lastUpdatedAt;
    isAllSeen = (await takePage(page.machines, isFull)) && isAllSeen;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  if (isFull) for (const region of await orphans.takeVolumes(look, signal)) silent.add(region);
  // Nothing is concluded from what is missing while a region does not answer.
  const isWhole = isFull && silent.size === 0;
  if (isWhole) isAllSeen = (await lookForVanished(listed)) && isAllSeen;
  await look(await listUnready(db, CANDIDATES), { most: MOST_UNREADY });
  const most = staleLooks(await countOnline(db));
  await look(await listStale(db, CANDIDATES), { most, lanes: STALE_LANES });
  report.silentRegions = [...new Set([...silent, ...silence.regions()])].toSorted();
  report.swept = isWhole && isAllSeen;
  await db.transaction(async (trx) => {
    if (isFull)
      for (const orphan of await noteOrphans(trx, orphans.found(), isWhole)) log.warn('found an orphan', orphan);
    // Where looks were left over the next pass begins at the same place: those looked at are no news then.
    if (isAllSeen) await writeWatermark(trx, org, newest, isWhole);
  });
  return report;
};
