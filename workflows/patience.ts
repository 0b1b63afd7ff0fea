import { workflowInfo } from '@temporalio/workflow';

/**
 * Seconds as this workflow takes them: times the factor that who started it put into its memo (`JOB_PATIENCE`; absent = 1). At least one
 * second. What a single try may take is not multiplied.
 */
export const patience = (seconds: number): number => {
  const factor = workflowInfo().memo?.['patience'];
  return typeof factor === 'number' && factor > 0 ? Math.max(1, seconds * factor) : seconds;
};

/** The same in milliseconds, as activity options want it. */
export const patienceMs = (seconds: number): number => Math.round(patience(seconds) * 1_000);
