import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../src/contract/errors.js';
import type { NewCommand } from '../../src/contract/shapes/machine-call.js';
import { isUnavailable } from '../../src/db/knex.js';
import { Agent } from '../../src/models/agent.js';
import { type Beginning, beginCall } from '../../src/models/begin-call.js';
import { openRequest } from '../../src/models/machine-call.js';
import { answerCall, type Heard } from '../../src/models/settle-call.js';
import type { HostCommand, HostOutcome } from '../../src/providers/host/host.js';
import { AnswerTooLarge, hasStatus, VendorError } from '../../src/providers/vendor-error.js';
import { cutOutput } from '../../src/rules/cut-output.js';
import { type AgentJobInput, jobActivity, type StepInput } from '../job-activity.js';
import type { HostDeps } from './deps.js';

/** Of what a command wrote, and of a log. */
export const MAX_OUTPUT_BYTES = 256 * 1024;
/** Beyond the command's own time: for the host's answer, and a database that is away. */
const SLACK_SECONDS = 45;
const DATABASE_PATIENCE_MS = 40_000;
const DATABASE_PAUSE_MS = 500;
const LIMIT_PATIENCE_MS = 15_000;

/** Waits for a database that is away: after this attempt there is no other. */
const whileDatabaseReturns = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  const until = Date.now() + DATABASE_PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > until) throw error;
      await sleep(DATABASE_PAUSE_MS, undefined, { signal });
    }
  }
};

const notRunning = (): ApiError => new ApiError('agent_not_online', 'The machine does not run, and nothing was run.');

/** Asks the host, and again while it says that it is asked too often (429): the one answer after which asking again is safe. */
export const execWithinLimits = async (
  { host }: HostDeps,
  { hostAppName, hostMachineId }: Agent,
  command: HostCommand,
  signal: AbortSignal,
): Promise<HostOutcome> => {
  if (hostAppName === null || hostMachineId === null) throw notRunning();
  const until = Date.now() + LIMIT_PATIENCE_MS;
  for (;;) {
    try {
      return await host.exec(hostAppName, hostMachineId, command, signal);
    } catch (error) {
      if (hasStatus(error, 404, 412)) throw notRunning();
      if (!hasStatus(error, 429)) throw error;
      const pauseMs = (error as VendorError).retryAfterMs ?? 1_000; // hasStatus has seen that it is one
      if (Date.now() + pauseMs > until)
        throw new ApiError('rate_limited', 'The host has too much to do; nothing was run.');
      await sleep(pauseMs, undefined, { signal });
    }
  }
};

const outcomeUnknown = (): ApiError =>
  new ApiError('outcome_unknown', 'It was begun, and nobody can say what became of it. It is not run again.');

/** What a command that was begun ends with. Unless the host refused it, it may have run. */
const failureOf = (error: unknown, { timeoutSeconds }: HostCommand): Error => {
  if (error instanceof ApiError) return error;
  if (error instanceof AnswerTooLarge)
    return new ApiError('payload_too_large', 'The command has run. It wrote more than the host can hand over.');
  if (hasStatus(error, 408))
    return new ApiError('deadline_exceeded', `The command did not end within ${timeoutSeconds} s and was ended.`);
  const isRefusal = error instanceof VendorError && (error.isUnsent || (error.status ?? 500) < 500);
  return isRefusal ? error : outcomeUnknown();
};

/** Runs what a user asked for on a machine, once. */
export const makeCallActivities = (deps: HostDeps) => {
  const { db, keys } = deps;

  const begin = async (beginning: Beginning, signal: AbortSignal): Promise<boolean> => {
    const begun = await whileDatabaseReturns(() => beginCall(db, beginning), signal);
    if (begun === 'begun before') throw outcomeUnknown();
    if (begun === 'late') throw new ApiError('unavailable', 'It did not begin in time, and has not run.');
    return begun === 'begun';
  };

  const findAgent = ({ agentId }: AgentJobInput): Promise<Agent> =>
    Agent.query(db).findById(agentId).throwIfNotFound().execute();

  const keep = async (heard: Heard, signal: AbortSignal): Promise<void> => {
    await whileDatabaseReturns(() => answerCall(db, keys, heard), signal);
  };

  return {
    /**
     * At most once, whoever asks how often: the row says `begun` before the host hears of the command, and only the attempt that
     * wrote so goes on. Failing after that, without knowing better, is outcome_unknown.
     */
    runMachineCommand: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const { jobId } = input;
      const attempt = randomUUID();
      const [agent, request] = await whileDatabaseReturns(
        () => Promise.all([findAgent(input), openRequest(db, keys, jobId)]),
        signal,
      );
      const command = request as Required<NewCommand> | undefined; // sealed as this by operations/agents/run-command.ts
      const deadlineSeconds = (command?.timeoutSeconds ?? 0) + SLACK_SECONDS;
      const hasBegun = await begin({ jobId, attempt, step: 'run the command', deadlineSeconds }, signal);
      if (!hasBegun) return;
      if (!command) throw outcomeUnknown();
      try {
        const { exitCode, ...output } = await execWithinLimits(deps, agent, command, signal);
        const { truncated, ...answer } = cutOutput(output, MAX_OUTPUT_BYTES);
        await keep({ jobId, attempt, result: { exitCode, truncated }, answer }, signal);
      } catch (error) {
        throw failureOf(error, command);
      }
    }),
  };
};
