import { ActivityCancellationType, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { ReapReport, ReconcileActivities, ReconcileReport } from '../activities/reconcile.js';

/** One pass of the reconciler, started by its schedule; the next one begins where this one ended. */
export async function reconcileHost(): Promise<ReconcileReport & { reaping?: ReapReport }> {
  const background = proxyActivities<ReconcileActivities>({
    taskQueue: workflowInfo().taskQueue.replace(/control$/, 'host-background'),
    startToCloseTimeout: '5m',
    scheduleToCloseTimeout: '10m',
    heartbeatTimeout: '8s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '2s', maximumInterval: '30s', maximumAttempts: 5 },
  });
  const report = await background.reconcileHost();
  // Only a sweep that saw everything says enough about what belongs to nobody.
  return report.swept ? { ...report, reaping: await background.reapOrphans() } : report;
}
