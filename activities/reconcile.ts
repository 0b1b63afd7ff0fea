import { Context } from '@temporalio/activity';
import type { Db } from '../src/db/knex.js';
import { Agent } from '../src/models/agent.js';
import { forgetOrphans, rememberOrphan } from '../src/models/host-orphan.js';
import { readWatermark, type Watermark, writeWatermark } from '../src/models/host-watermark.js';
import { writeObserved } from '../src/models/observed-agent.js';
import type { Host, OrgMachine } from '../src/providers/host/host.js';
import type { MachineGateway } from '../src/providers/machine-gateway.js';
import { observe, type Seen } from '../src/rules/observe.js';
import { snapshotOf } from './host/deps.js';
import { guarded } from './job-activity.js';

export interface ReconcileDeps {
  db: Db;
  host: Host;
  gateway: MachineGateway;
  org: string;
  installationId: string;
}

export interface ReconcileReport {
  listed: number;
  /** List calls and single looks. */
  hostCalls: number;
  changed: number;
  orphans: number;
}

const BATCH = 500;
/** Every so often the whole list is compared, for what never shows up as a change. */
const FULL_SWEEP_MS = 10 * 60_000;

/** What the reconciler does: one pass over what changed at the host since its last look. Never touches an agent with a job. */
export const makeReconcileActivities = (deps: ReconcileDeps) => {
  const { db, host, gateway, org, installationId } = deps;

  const lookAt = async (agent: Agent, listed: OrgMachine | undefined, report: ReconcileReport, signal: AbortSignal) => {
    if (listed && listed.state === agent.machine?.state && listed.region === agent.machine.region) return;
    if (agent.hostAppName === null || agent.hostMachineId === null) return;
    // A suspect: the list is eventually consistent, the machine itself is not.
    report.hostCalls++;
    const machine = await host.findMachine(agent.hostAppName, agent.hostMachineId, signal);
    const gatewayReady =
      machine?.state === 'started' && agent.status !== 'online'
        ? await gateway.isReady(agent.gatewayUrl ?? '', signal)
        : undefined;
    const seen: Seen =
      machine && machine.state !== 'destroyed'
        ? { state: machine.state, ...(gatewayReady === undefined ? {} : { gatewayReady }) }
        : 'gone';
    const observed = observe(agent, seen);
    const snapshot = machine ? snapshotOf(machine) : null;
    if (await writeObserved(db, agent, observed, snapshot)) report.changed++;
  };

  const reconcileBatch = async (
    machines: OrgMachine[],
    report: ReconcileReport,
    signal: AbortSignal,
  ): Promise<void> => {
    const ours = machines.filter((machine) => machine.metadata['acp_installation'] === installationId);
    const byAgent = new Map(ours.map((machine) => [machine.metadata['acp_agent_id'] ?? '', machine]));
    const agents = await Agent.query(db).findByIds([...byAgent.keys()]);
    const known = new Map(agents.map((agent) => [agent.id, agent]));
    for (const [agentId, machine] of byAgent) {
      const agent = known.get(agentId);
      const isOrphan = (!agent || agent.deletedAt !== null) && machine.state !== 'destroyed';
      if (isOrphan) {
        await rememberOrphan(db, { machineId: machine.id, appName: machine.appName, agentId });
        report.orphans++;
      } else if (agent && agent.deletedAt === null && agent.activeJobId === null && agent.holderJobId === null)
        await lookAt(agent, machine.id === agent.hostMachineId ? machine : undefined, report, signal);
    }
  };

  /** Agents whose machine the whole list does not show. Nothing is concluded while a region is silent. */
  const lookForVanished = async (listed: Set<string>, report: ReconcileReport, signal: AbortSignal): Promise<void> => {
    for (let after = ''; ;) {
      const agents = await Agent.query(db)
        .whereNull('deletedAt')
        .whereNotNull('hostMachineId')
        .whereNull('activeJobId')
        .whereNull('holderJobId')
        .where('id', '>', after)
        .orderBy('id')
        .limit(BATCH);
      for (const agent of agents)
        if (!listed.has(agent.hostMachineId ?? '')) await lookAt(agent, undefined, report, signal);
      const last = agents.at(-1);
      if (!last || agents.length < BATCH) return;
      after = last.id;
    }
  };

  return {
    reconcileHost: guarded(async (): Promise<ReconcileReport> => {
      const { cancellationSignal: signal } = Context.current();
      const report: ReconcileReport = { listed: 0, hostCalls: 0, changed: 0, orphans: 0 };
      const watermark: Watermark = await readWatermark(db, org);
      const isFull = watermark.sweptAt === null || Date.now() - watermark.sweptAt.getTime() > FULL_SWEEP_MS;
      const listed = new Set<string>();
      const silent = new Set<string>();
      let newest = watermark.updatedAfter;
      let cursor: string | undefined;
      do {
        const updatedAfter = isFull ? undefined : (watermark.updatedAfter ?? undefined);
        const page = await host.listOrgMachines({ updatedAfter, cursor }, signal);
        report.hostCalls++;
        report.listed += page.machines.length;
        for (const machine of page.machines) if (machine.state !== 'destroyed') listed.add(machine.id);
        for (const region of page.errorRegions) silent.add(region);
        if (page.lastUpdatedAt && (newest === null || page.lastUpdatedAt > newest)) newest = page.lastUpdatedAt;
        await reconcileBatch(page.machines, report, signal);
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
      if (isFull && silent.size === 0) {
        await lookForVanished(listed, report, signal);
        await forgetOrphans(db);
      }
      await writeWatermark(db, org, newest, isFull && silent.size === 0);
      return report;
    }),
  };
};

export type ReconcileActivities = ReturnType<typeof makeReconcileActivities>;
