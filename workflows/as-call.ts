import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { Outcome } from '../activities/control.js';
import type { AgentJobInput, StepInput } from '../activities/job-activity.js';
import type { WithOptions } from './as-job.js';
import { control } from './activities.js';
import { closeAs, outcomeOf } from './failure.js';

const notBegun: Outcome = {
  status: 'failed',
  error: {
    code: 'unavailable',
    message: 'It did not begin in time, and has not run.',
    retryable: true,
    needsOperator: false,
  },
};

/** Codes of a command that has run, or may have: whether to ask again, which would be a second time, is for its user to decide. */
const mayHaveRun = new Set(['outcome_unknown', 'deadline_exceeded', 'payload_too_large']);

/** What the failure of the one activity means. Whether it had begun, the job's row knows. */
const brokenBy = (error: unknown): Outcome => {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') return notBegun;
  const isCanceled = CancellationScope.current().consideredCancelled || isCancellation(error);
  const { outcome } = outcomeOf(error, { deadlinePassed: false, isCanceled });
  if (outcome.error && mayHaveRun.has(outcome.error.code)) outcome.error.retryable = false;
  return outcome;
};

/**
 * The frame of a job that talks to a running machine: one activity, which begins the job, does the work and ends it. It takes no
 * hold of the agent. What is left here is to end a job whose activity could not.
 */
export const asCall = async (
  { jobId, agentId }: AgentJobInput,
  step: string,
  activity: (input: StepInput) => Promise<void>,
): Promise<void> => {
  setCurrentDetails(`**${step}**`);
  // Every proxied activity has it, the type of the proxy's keys does not say so.
  const withOptions = activity as unknown as WithOptions<unknown>;
  try {
    await withOptions.executeWithOptions({ summary: step }, [{ jobId, agentId }]);
    setCurrentDetails('**ended**');
  } catch (error) {
    const outcome = brokenBy(error);
    setCurrentDetails(`**${outcome.status}**: ${outcome.error?.code}`);
    await CancellationScope.nonCancellable(() => control().finishBrokenCall({ jobId, agentId, outcome }));
    closeAs(outcome);
  }
};
