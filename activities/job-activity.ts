import { ApplicationFailure, CancelledFailure, Context, log } from '@temporalio/activity';
import { ApiError } from '../src/contract/errors.js';
import { type Db, isUnavailable } from '../src/db/knex.js';
import { NotHolder } from '../src/models/agent.js';
import { beginStep, endStep } from '../src/models/job-step.js';
import { VendorError } from '../src/providers/vendor-error.js';
import { asAttempt } from './attempt.js';

/** What every workflow of an agent is started with, and every activity of it gets. Ids only: histories are read by people. */
export interface AgentJobInput {
  jobId: string;
  agentId: string;
}

/** The step of the job that an activity carries out; absent = none the owner needs to see. */
export interface StepInput extends AgentJobInput {
  step?: string;
}

export interface Work {
  /** Aborts when the job is canceled, the attempt timed out or the worker shuts down: goes into every call. */
  signal: AbortSignal;
  /** Shown in the Temporal UI with the pending activity. */
  note(text: string): void;
}

const BEAT_MS = 1_500;

/** Errors as Temporal should see them: a code of the contract as type, nothing of a vendor's or the database's own text. */
const toFailure = (error: unknown): Error => {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (error instanceof VendorError)
    return ApplicationFailure.create({
      message: error.message,
      type: error.code,
      nonRetryable: !error.retryable,
      ...(error.retryAfterMs === undefined ? {} : { nextRetryDelay: error.retryAfterMs }),
    });
  if (error instanceof NotHolder) return ApplicationFailure.nonRetryable('another job holds the agent', 'superseded');
  if (error instanceof ApiError) return ApplicationFailure.nonRetryable(error.message, error.code);
  if (isUnavailable(error)) return ApplicationFailure.retryable('the database does not answer', 'unavailable');
  log.error('unexpected error', { err: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return ApplicationFailure.retryable('unexpected error, see the log of the worker', 'internal');
};

/**
 * Makes an activity of a job out of a function: heartbeats while it runs (so a dead worker is noticed and a cancel arrives),
 * writes the step's progress to the job's row, and translates what is thrown.
 */
export const jobActivity =
  <Input extends StepInput, Output>(db: Db, run: (input: Input, work: Work) => Promise<Output>) =>
  async (input: Input): Promise<Output> => {
    const context = Context.current();
    let note = '';
    const beat = setInterval(() => context.heartbeat(note), BEAT_MS);
    const work: Work = {
      signal: context.cancellationSignal,
      note: (text) => {
        note = text;
        context.heartbeat(note);
      },
    };
    const attempt = async (): Promise<Output> => {
      if (input.step !== undefined) await beginStep(db, input.jobId, input.step, context.info.attempt);
      const output = await run(input, work);
      if (input.step !== undefined) await endStep(db, input.jobId, input.step);
      return output;
    };
    try {
      return await asAttempt(attempt);
    } catch (error) {
      if (context.cancellationSignal.aborted) throw new CancelledFailure('canceled');
      const failure = toFailure(error);
      const { jobId, agentId, step } = input;
      const code = failure instanceof ApplicationFailure ? failure.type : undefined;
      log.warn('step failed', { jobId, agentId, step, attempt: context.info.attempt, code });
      throw failure;
    } finally {
      clearInterval(beat);
    }
  };

/** Makes an activity of a function that belongs to no job: heartbeats, and failures as Temporal should see them. */
export const guarded =
  <Output>(run: () => Promise<Output>) =>
  async (): Promise<Output> => {
    const context = Context.current();
    const beat = setInterval(() => context.heartbeat(), BEAT_MS);
    try {
      return await asAttempt(run);
    } catch (error) {
      if (context.cancellationSignal.aborted) throw new CancelledFailure('canceled');
      throw toFailure(error);
    } finally {
      clearInterval(beat);
    }
  };
