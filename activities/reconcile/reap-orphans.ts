import { log, metricMeter } from '@temporalio/activity';
import { Agent, knownIds } from '../../src/models/agent.js';
import { writeAudit } from '../../src/models/audit-event.js';
import { changeOrphan, claimsOn, forgetOrphan, HostOrphan, listOrphans } from '../../src/models/host-orphan.js';
import type { HeldBack } from '../../src/contract/shapes/orphan.js';
import { VendorError } from '../../src/providers/vendor-error.js';
import { agentIdOfApp, volumeNameOf } from '../../src/rules/host-name.js';
import { areTooMany, holdBack, needsPerson } from '../../src/rules/orphan.js';
import { isGoing } from '../host/deps.js';
import { isVolumeGoing } from '../host/volumes.js';
import type { ReconcileDeps } from './deps.js';

export interface ReapReport {
  known: number;
  heldBack: number;
  reaped: number;
}

/** One run never takes more away than this, whatever the rows say. */
const MOST_REAPED = 5;
/** Whole sweeps that must have seen an orphan. */
const LEAST_SWEEPS = 2;
/** Far above what is ever reaped; more than this many are too many anyhow. */
const MOST_LISTED = 10_000;

/** Decides about every orphan known, and removes those whose time has come. Runs after a sweep that saw everything. */
export const reapOrphans = async (deps: ReconcileDeps, signal: AbortSignal): Promise<ReapReport> => {
  const { db, host, settings } = deps;
  const { isReaping, graceSeconds } = settings.orphans;
  const reaped = metricMeter.createCounter(
    'acp_host_orphans_reaped',
    undefined,
    'Orphans at the host that were removed',
  );
  const orphans = await listOrphans(db, MOST_LISTED);
  const report: ReapReport = { known: orphans.length, heldBack: 0, reaped: 0 };
  const agents = await Agent.query(db).whereNull('deletedAt').resultSize();
  const recorded = await knownIds(db, [...new Set(orphans.map(({ agentId }) => agentId ?? ''))]);
  const waiting = new Map<string, HeldBack>();
  for (const { appName, agentId, volumeIds, heldBack } of orphans) {
    const isNameOurs = agentId !== null && agentId === agentIdOfApp(settings.installationId, appName);
    const facts = { isNameOurs, isDeletionKnown: recorded.has(agentId ?? ''), hasVolumes: volumeIds.length > 0 };
    const reason = needsPerson(facts, heldBack);
    if (reason) waiting.set(appName, reason);
  }
  const lost = [...waiting.values()].filter((reason) => reason === 'no_record').length;
  const tooMany = areTooMany(orphans.length - waiting.size, agents);
  if (tooMany)
    log.error('too many orphans, none is reaped: is this the right database?', {
      orphans: orphans.length,
      waitingForAPerson: waiting.size,
      agents,
    });

  /** What the app itself shows now; `gone` when there is no app any more. */
  const lookAtHost = async (orphan: HostOrphan, agentId: string): Promise<'ours' | 'gone' | 'foreign' | 'no data'> => {
    const found = await host.findApp(orphan.appName, signal);
    if (found !== 'ours') return found === 'free' ? 'gone' : 'foreign';
    for (const { id } of await host.listMachines(orphan.appName, signal)) {
      const machine = await host.findMachine(orphan.appName, id, signal);
      if (!machine || isGoing(machine)) continue;
      const { acp_installation: installation, acp_agent_id: tag } = machine.metadata;
      if (installation !== settings.installationId || tag !== agentId) return 'foreign';
    }
    const volumes = (await host.listVolumes(orphan.appName, signal)).filter((volume) => !isVolumeGoing(volume));
    if (volumes.some(({ name }) => name !== volumeNameOf(agentId))) return 'foreign';
    return volumes.length === 0 ? 'no data' : 'ours';
  };

  const hold = async (orphan: HostOrphan, heldBack: HostOrphan['heldBack']): Promise<void> => {
    report.heldBack++;
    if (orphan.heldBack === heldBack && orphan.reapAt === null) return;
    if (orphan.heldBack !== heldBack) log.warn('an orphan is held back', { appName: orphan.appName, heldBack });
    await changeOrphan(db, orphan.appName, { heldBack, reapAt: null });
  };

  const remove = async (orphan: HostOrphan, userId: string | null): Promise<void> => {
    const { appName, agentId, machineIds, volumeIds, firstSeenAt } = orphan;
    // Once more, as late as can be.
    if ((await claimsOn(db, orphan)).isClaimed) return forgetOrphan(db, appName);
    log.warn('reaping an orphan', { appName, agentId, machineIds, volumeIds, firstSeenAt: firstSeenAt.toISOString() });
    await changeOrphan(db, appName, { reapBeganAt: new Date() });
    await host.deleteApp(appName, signal);
    if ((await host.findApp(appName, signal)) === 'ours')
      throw new VendorError('conflict', 'host: the app is still there', { retryable: true });
    await recordReaped(orphan, userId);
  };

  const recordReaped = async (orphan: HostOrphan, userId: string | null): Promise<void> => {
    const { appName, agentId, machineIds, volumeIds, firstSeenAt } = orphan;
    await db.transaction(async (trx) => {
      await changeOrphan(trx, appName, { reapedAt: new Date() });
      await writeAudit(trx, {
        userId,
        actorType: 'service',
        actorId: 'reconcile-host',
        action: 'host_orphan.reaped',
        subjectType: 'app',
        subjectId: appName,
        before: { agentId, machineIds, volumeIds, firstSeenAt: firstSeenAt.toISOString() },
      });
    });
    report.reaped++;
    reaped.add(1);
  };

  const decide = async (orphan: HostOrphan): Promise<void> => {
    const { appName } = orphan;
    // Decided already, whatever the rows say of it: there may be thousands.
    if (tooMany) return hold(orphan, waiting.get(appName) ?? 'too_many');
    const agentId = agentIdOfApp(settings.installationId, appName);
    const { isClaimed, agent, hasUnfinishedJob } = await claimsOn(db, orphan);
    if (isClaimed && agentId === orphan.agentId) return forgetOrphan(db, appName);
    const isNameOurs = agentId !== undefined && agentId === orphan.agentId && !isClaimed;
    const hasVolumes = orphan.volumeIds.length > 0;
    const facts = { isNameOurs, hasVolumes, hasUnfinishedJob, isReaping, isDeletionKnown: agent !== undefined };
    // Many agents that the database has lost: then it is no witness for those without data either.
    const reason = holdBack(facts) ?? (agent === undefined && areTooMany(lost, agents) ? 'no_record' : undefined);
    if (reason || agentId === undefined) return hold(orphan, reason ?? 'name_not_ours');
    const reapAt = new Date(orphan.firstSeenAt.getTime() + graceSeconds * 1_000);
    await changeOrphan(db, appName, { heldBack: null, reapAt });
    const isDue = reapAt.getTime() <= Date.now() && orphan.sweeps >= LEAST_SWEEPS;
    if (!isDue || report.reaped >= MOST_REAPED) return;
    const seen = await lookAtHost(orphan, agentId);
    if (seen === 'foreign') return hold(orphan, 'host_disagrees');
    if (seen === 'ours' && agent === undefined) return hold(orphan, 'no_record');
    if (seen === 'gone')
      // A removal whose reply was lost is told all the same.
      return orphan.reapBeganAt === null ? forgetOrphan(db, appName) : recordReaped(orphan, agent?.userId ?? null);
    await remove(orphan, agent?.userId ?? null);
  };

  for (const orphan of orphans) {
    signal.throwIfAborted();
    try {
      await decide(orphan);
    } catch (error) {
      if (!(error instanceof VendorError)) throw error;
      log.warn('could not decide about an orphan', { appName: orphan.appName, code: error.code });
    }
  }
  return report;
};
