import type { HeldBack } from '../contract/shapes/orphan.js';

/** What is known of an orphan before the host is asked. */
export interface OrphanFacts {
  /** The name of the app is one that this installation would have given to the agent. */
  isNameOurs: boolean;
  /** There is a row of the agent, and it says deleted. */
  isDeletionKnown: boolean;
  hasVolumes: boolean;
  hasUnfinishedJob: boolean;
  isReaping: boolean;
}

/**
 * Why an orphan must not be reaped, if there is a reason. Rows of agents are never removed: where there is none the database has lost
 * it, and then data is nobody's to destroy but a person's.
 */
export const holdBack = (facts: OrphanFacts): HeldBack | undefined => {
  if (!facts.isNameOurs) return 'name_not_ours';
  if (!facts.isDeletionKnown && facts.hasVolumes) return 'no_record';
  if (facts.hasUnfinishedJob) return 'job_unfinished';
  return facts.isReaping ? undefined : 'reporting_only';
};

const FEW = 10;
const SHARE = 0.1;

/** More orphans than deletions can explain: the database may be restored from a backup, or be the wrong one. */
export const areTooMany = (orphans: number, agents: number): boolean => orphans > Math.max(FEW, agents * SHARE);
