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
 * Why only a person can decide about an orphan, if that is so; it may stay for ever. `before` is what held it back last time. Rows of
 * agents are never removed: where there is none the database has lost it, and then data is nobody's to destroy but a person's.
 */
export const needsPerson = (
  facts: Pick<OrphanFacts, 'isNameOurs' | 'isDeletionKnown' | 'hasVolumes'>,
  before: HeldBack | null,
): HeldBack | undefined => {
  if (!facts.isNameOurs) return 'name_not_ours';
  if (!facts.isDeletionKnown && facts.hasVolumes) return 'no_record';
  return before === 'host_disagrees' ? before : undefined;
};

/** Why an orphan must not be reaped, before the host is asked, if there is a reason. */
export const holdBack = (facts: OrphanFacts): HeldBack | undefined => {
  const lasting = needsPerson(facts, null);
  if (lasting) return lasting;
  if (facts.hasUnfinishedJob) return 'job_unfinished';
  return facts.isReaping ? undefined : 'reporting_only';
};

const FEW = 10;
const SHARE = 0.1;

/**
 * More orphans than deletions can explain: the database may be restored from a backup, or be the wrong one. Those that wait for a
 * person are not among them: they are not reaped anyhow, and would switch it off for all others as long as they stay.
 */
export const areTooMany = (orphans: number, agents: number): boolean => orphans > Math.max(FEW, agents * SHARE);
