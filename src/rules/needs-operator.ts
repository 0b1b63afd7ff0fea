import type { ErrorCode } from '../contract/errors.js';
import type { JobKind } from '../contract/shapes/job.js';

/** How a job failed, past all of its retries. */
export interface Failure {
  kind: JobKind;
  code: ErrorCode;
  /** The step said that trying again would not help. */
  isFinal: boolean;
  /** What the job had done could not be undone. */
  isNotUndone: boolean;
}

/** Codes by which the host refuses what we asked, not what the owner asked: no other start changes that. */
const ours = new Set<ErrorCode>(['conflict', 'upstream_failed']);

/** Whether asking again can help: not where a step found that the agent's data, name or configuration is not as it must be. */
export const isRetryable = ({ code, isFinal }: Failure): boolean => !(isFinal && code === 'conflict');

/**
 * Whether a failed job goes on the operators' list (docs/lifecycle.md has the table). What another start by the owner repairs does not;
 * our own misconfiguration and faults, what could not be undone, and every deletion that failed do: it costs money until it is done.
 */
export const needsOperator = (failure: Failure): boolean => {
  const { kind, code, isFinal, isNotUndone } = failure;
  if (isNotUndone || kind === 'agent.delete') return true;
  if (code === 'vendor_misconfigured' || code === 'internal') return true;
  return isFinal && ours.has(code);
};
