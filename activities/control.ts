import { setTimeout as sleep } from 'node:timers/promises';
import { log } from '@temporalio/activity';
import type { Transaction } from 'objection';
import { ApiError, isErrorCode } from '../src/contract/errors.js';
import type { Db } from '../src/db/knex.js';
import { Agent, NotHolder } from '../src/models/agent.js';
import { Job } from '../src/models/job.js';
import { pendingStep } from '../src/models/job-step.js';
import { settleBrokenCall } from '../src/models/settle-call.js';
import { type Outcome, settleJob } from '../src/models/settle-job.js';
import { isRetryable, needsOperator } from '../src/rules/needs-operator.js';
import { jobActivity, type StepInput } from './job-activity.js';

export interface ClaimInput extends StepInput {
  /** Seconds until the job must have ended, from now or, if another still holds the agent, from the end of the patience. */
  deadlineSeconds: number;
  /** Seconds to wait for the job that holds the agent. */
  patienceSeconds: number;
  steps: string[];
}

export type { Outcome };

/** claimed: the agent is this job's to write; busy: another job still holds it; ended: there is nothing to do. */
export type Claim = 'claimed' | 'busy' | 'ended';

export interface AwaitAgentInput extends StepInput {
  /** Seconds to wait for the earlier job to end. */
  patienceSeconds: number;
  /** Take the agent over when patience ends, instead of failing. */
  takeOver: boolean;
}

export interface FinishInput extends StepInput {
  outcome: Outcome;
  /** A step said that trying again would not help; absent in what older workflows send. */
  isFinal?: boolean;
}

const POLL_MS = 250;

/** Makes the job the one that may write the agent, if no unfinished job is. The caller holds the agent's row lock. */
const hold = async (trx: Transaction, agent: Agent, jobId: string, force: boolean): Promise<boolean> => {
  if (agent.holderJobId === jobId) return true;
  if (agent.holderJobId !== null && !force) {
    const holder = await Job.query(trx).findById(agent.holderJobId).select('finishedAt');
    if (holder && !holder.isFinished) return false;
  }
  await trx('agents').update({ holderJobId: jobId }).where({ id: agent.id });
  return true;
};

const claim = async (trx: Transaction, input: ClaimInput): Promise<Claim> => {
  const agent = await Agent.query(trx).findById(input.agentId).forUpdate();
  const job = await Job.query(trx).findById(input.jobId).forUpdate();
  if (!agent || !job || job.isFinished) return 'ended';
  const isFree = await hold(trx, agent, input.jobId, false);
  const lastsSeconds = input.deadlineSeconds + (isFree ? 0 : input.patienceSeconds);
  if (job.status === 'queued') {
    await trx('jobs')
      .update({
        status: 'running',
        startedAt: trx.fn.now(),
        deadlineAt: trx.raw('now() + make_interval(secs => ?)', [lastsSeconds]),
        steps: JSON.stringify(input.steps.map(pendingStep)),
      })
      .where({ id: input.jobId });
  }
  return isFree ? 'claimed' : 'busy';
};

/** The code travels through workflow code, which knows no list: here it is checked against ours. */
const withKnownCode = ({ outcome, isFinal = false }: FinishInput, job: Job): Outcome => {
  if (!outcome.error) return outcome;
  const code =
    outcome.status === 'canceled'
      ? (job.cancelCode ?? 'canceled')
      : isErrorCode(outcome.error.code)
        ? outcome.error.code
        : 'internal';
  const { kind } = job;
  const failure = { kind, code, isFinal, isNotUndone: outcome.error.needsOperator };
  return {
    ...outcome,
    error: {
      code,
      message: code === 'superseded' ? 'Superseded by a later request.' : outcome.error.message,
      retryable: outcome.error.retryable && isRetryable(failure),
      needsOperator: outcome.status === 'failed' && needsOperator(failure),
    },
  };
};

const finish = async (db: Db, input: FinishInput, settle: typeof settleJob): Promise<void> => {
  const { jobId } = input;
  await db.transaction(async (trx) => {
    const job = await Job.query(trx).findById(jobId).throwIfNotFound();
    if (!(await settle(trx, jobId, withKnownCode(input, job)))) return;
    const { kind, agentId, status, error } = await Job.query(trx).findById(jobId).throwIfNotFound();
    log.info('job ended', { jobId, kind, agentId, status, code: error?.code });
  });
};

/** Short database work of the control queue. */
export const makeControlActivities = ({ db }: { db: Db }) => ({
  /** The first activity of every workflow: queued → running, exactly once. */
  claimJob: jobActivity(db, (input: ClaimInput): Promise<Claim> => db.transaction((trx) => claim(trx, input))),

  /** Waits until the job that holds the agent has ended, then holds it. */
  awaitAgentFree: jobActivity(db, async (input: AwaitAgentInput, { signal, note }): Promise<void> => {
    const until = Date.now() + input.patienceSeconds * 1_000;
    for (;;) {
      signal.throwIfAborted();
      const force = input.takeOver && Date.now() > until;
      const held = await db.transaction(async (trx) => {
        const agent = await Agent.query(trx).findById(input.agentId).forUpdate().throwIfNotFound();
        const job = await Job.query(trx).findById(input.jobId).forUpdate();
        // Settled meanwhile, as long overdue: it must not begin any more.
        if (!job || job.isFinished) throw new NotHolder(`job ${input.jobId} has ended`);
        return hold(trx, agent, input.jobId, force);
      });
      if (held) return;
      if (Date.now() > until)
        throw new ApiError('operation_in_progress', 'The operation before this one did not end in time.');
      note('waiting for the earlier operation to end');
      await sleep(POLL_MS, undefined, { signal });
    }
  }),

  /** The last activity of every workflow: ends the row and says what the agent is. Settled before = no-op. */
  finishJob: jobActivity(db, (input: FinishInput): Promise<void> => finish(db, input, settleJob)),

  /** The same for a job that talks to a machine and did not end by itself. */
  finishBrokenCall: jobActivity(db, (input: FinishInput): Promise<void> => finish(db, input, settleBrokenCall)),
});

export type ControlActivities = ReturnType<typeof makeControlActivities>;
