import { CancellationScope, isCancellation, log, setCurrentDetails, sleep } from '@temporalio/workflow';
import type { AgentJobInput, StepInput } from '../activities/job-activity.js';
import { control, controlWaits } from './activities.js';
import { closeAs, type Ended, lostAgent, outcomeOf } from './failure.js';
import { patience } from './patience.js';

type Activity<Extra> = (input: StepInput & Extra) => Promise<unknown>;

/** An activity as the proxy makes it: called through executeWithOptions it carries a summary into the Temporal UI. */
export interface WithOptions<Extra> {
  executeWithOptions(options: { summary: string }, args: [StepInput & Extra]): Promise<unknown>;
}

export interface JobStory<Step extends string> {
  /** Runs one step of those announced; shown to the owner with its progress. */
  step<Extra = unknown>(name: Step, activity: Activity<Extra>, extra?: Extra): Promise<void>;
  /** Registers what undoes the steps to come, before the first of them: last registered, first run. */
  undo<Extra = unknown>(name: string, activity: Activity<Extra>, extra?: Extra): void;
}

export interface JobOptions<Step extends string> {
  deadlineSeconds: number;
  steps: readonly Step[];
  /** Seconds to wait for the job before this one; `takeOver` goes on without it then. */
  patienceSeconds?: number;
  takeOver?: boolean;
}

/** What the job before may take to undo its work: two steps of six minutes each (workflows/activities.ts). */
const UNDOING_SECONDS = 13 * 60;

/**
 * The frame of every workflow: claims the job, keeps its deadline, undoes on failure and cancel, and ends the row whatever happens.
 * The deadline is a scope in here and no workflow timeout, which would kill the workflow without undoing anything.
 */
export const asJob = async <Step extends string>(
  input: AgentJobInput,
  options: JobOptions<Step>,
  body: (job: JobStory<Step>) => Promise<void>,
): Promise<void> => {
  const { jobId, agentId } = input;
  const undoings: (() => Promise<unknown>)[] = [];

  const run = <Extra>(name: string, activity: Activity<Extra>, extra?: Extra): Promise<unknown> => {
    setCurrentDetails(`**${name}**`);
    const withOptions = activity as unknown as WithOptions<Extra>; // every proxied activity has it, the type of the proxy's keys does not say so
    // The cast joins what the caller gave in two parts.
    return withOptions.executeWithOptions({ summary: name }, [
      { jobId, agentId, step: name, ...extra } as StepInput & Extra,
    ]);
  };

  const { steps, takeOver = false } = options;
  const deadlineSeconds = patience(options.deadlineSeconds);
  const patienceSeconds = patience(options.patienceSeconds ?? UNDOING_SECONDS);
  const claim = await CancellationScope.nonCancellable(() =>
    control().claimJob({ jobId, agentId, deadlineSeconds, patienceSeconds, steps: [...steps] }),
  );
  if (claim === 'ended') return;

  const { outcome, isFinal } = await withinDeadline(
    deadlineSeconds + (claim === 'busy' ? patienceSeconds : 0),
    async () => {
      if (claim === 'busy') await controlWaits().awaitAgentFree({ jobId, agentId, patienceSeconds, takeOver });
      await body({
        step: async (name, activity, extra) => void (await run(name, activity, extra)),
        undo: (name, activity, extra) => void undoings.unshift(() => run(name, activity, extra)),
      });
    },
  );

  await CancellationScope.nonCancellable(async () => {
    if (outcome.status !== 'succeeded')
      for (const undoing of undoings)
        try {
          await undoing();
        } catch (error) {
          if (lostAgent(error)) break; // another job took over: what is left is its to do
          log.error('could not undo', { jobId, error: String(error) });
          outcome.status = 'failed';
          outcome.error = {
            ...(outcome.error ?? { code: 'internal', message: 'The work could not be undone.', retryable: true }),
            needsOperator: true,
          };
          break; // what comes after it stands on it
        }
    setCurrentDetails(`**${outcome.status}**${outcome.error ? `: ${outcome.error.code}` : ''}`);
    await control().finishJob({ jobId, agentId, outcome, isFinal });
  });
  closeAs(outcome);
};

/** Runs the story in a scope that the deadline cancels; what came of it, never a throw. */
const withinDeadline = async (seconds: number, story: () => Promise<void>): Promise<Ended> => {
  let deadlinePassed = false;
  const scope = new CancellationScope();
  const timer = new CancellationScope();
  void timer.run(async () => {
    try {
      await sleep(seconds * 1_000, { summary: 'the deadline of the job' });
      deadlinePassed = true;
      scope.cancel();
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  });
  try {
    await scope.run(story);
    return { outcome: { status: 'succeeded' }, isFinal: false };
  } catch (error) {
    const isCanceled = CancellationScope.current().consideredCancelled;
    return outcomeOf(error, { deadlinePassed, isCanceled });
  } finally {
    timer.cancel();
  }
};
