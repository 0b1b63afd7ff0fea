import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { Outcome } from '../activities/control.js';

/** How a story ended. */
export interface Ended {
  outcome: Outcome;
  /** A step said that trying again would not help, as opposed to giving up after many tries. */
  isFinal: boolean;
}

// Whether an operator is needed is said by who writes the row.
const failed = (code: string, message: string, isFinal = false): Ended => ({
  outcome: { status: 'failed', error: { code, message, retryable: true, needsOperator: false } },
  isFinal,
});

const canceled = (): Ended => ({
  outcome: {
    status: 'canceled',
    error: { code: 'canceled', message: 'Canceled.', retryable: true, needsOperator: false },
  },
  isFinal: false,
});

export interface Circumstances {
  deadlinePassed: boolean;
  /** The cancel of the workflow was requested. */
  isCanceled: boolean;
}

/** Whether an activity found that another job holds the agent by now. */
export const lostAgent = (error: unknown): boolean => {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.type === 'superseded';
};

/** What an error of the story means for the job: the code that the activity gave it. */
export const outcomeOf = (error: unknown, { deadlinePassed, isCanceled }: Circumstances): Ended => {
  if (deadlinePassed) return failed('deadline_exceeded', 'The job did not finish in time.');
  // Whatever broke on the way out, a worker that had died among it: the job was asked to stop, and it did.
  if (isCanceled || isCancellation(error)) return canceled();
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const inner = cause instanceof TimeoutFailure && cause.cause ? cause.cause : cause;
  if (inner instanceof ApplicationFailure) {
    if (inner.type === 'superseded') return canceled();
    return failed(inner.type ?? 'internal', inner.message, inner.nonRetryable === true);
  }
  if (inner instanceof TimeoutFailure) return failed('outcome_unknown', 'A step did not answer in time.');
  return failed('internal', 'Something went wrong on our side.');
};

/** Closes the workflow as its job ended, so that operators find failures where they look for them. The row is settled by now. */
export const closeAs = ({ status, error }: Outcome): void => {
  if (status === 'succeeded') return;
  if (status === 'canceled' && CancellationScope.current().consideredCancelled)
    throw new CancelledFailure(error?.code ?? 'canceled');
  throw ApplicationFailure.nonRetryable(error?.message ?? status, error?.code ?? status);
};
