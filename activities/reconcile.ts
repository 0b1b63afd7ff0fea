import { Context } from '@temporalio/activity';
import { whileHeld } from './attempt.js';
import { guarded } from './job-activity.js';
import type { ReconcileDeps } from './reconcile/deps.js';
import { reconcilePass } from './reconcile/pass.js';
import { reapOrphans } from './reconcile/reap-orphans.js';

export type { ReconcileDeps, ReconcileReport, ReconcileSettings } from './reconcile/deps.js';
export type { ReapReport } from './reconcile/reap-orphans.js';

const signal = (): AbortSignal => Context.current().cancellationSignal;

/** What the service does at the host by itself. */
export const makeReconcileActivities = (given: ReconcileDeps) => {
  const deps = { ...given, host: whileHeld(given.host) };
  return {
    reconcileHost: guarded(() => reconcilePass(deps, signal())),
    reapOrphans: guarded(() => reapOrphans(deps, signal())),
  };
};

export type ReconcileActivities = ReturnType<typeof makeReconcileActivities>;
