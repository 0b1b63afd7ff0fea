import {
  Client,
  Connection,
  type ConnectionOptions,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { CircuitState, circuitBreaker, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import type { Job } from '../models/job.js';
import { kinds } from './kinds.js';

export const searchAttributes = {
  agentId: defineSearchAttributeKey('agentId', SearchAttributeType.KEYWORD),
  userId: defineSearchAttributeKey('userId', SearchAttributeType.KEYWORD),
  jobKind: defineSearchAttributeKey('jobKind', SearchAttributeType.KEYWORD),
};

export interface TemporalOptions {
  address: string;
  namespace: string;
  queuePrefix: string;
  connection?: Pick<ConnectionOptions, 'apiKey' | 'tls'>;
  /** Factor on every deadline and patience of the workflows started. */
  patience: number;
}

/** How the workflow of a job stands. */
export type WorkflowState = 'running' | 'closed' | 'gone';

const START_DEADLINE_MS = 500;
const CALL_DEADLINE_MS = 5_000;
const FAILURES_TO_OPEN = 3;
const OPEN_MS = 2_000;

const INVALID_ARGUMENT = 3; // gRPC

/** Whether a failed start may say something of Temporal as a whole. What is wrong with one job must not stop the others. */
const concernsAll = (error: Error): boolean => {
  const code: number | undefined = isGrpcServiceError(error.cause) ? error.cause.code : undefined;
  return !(error instanceof TypeError) && code !== INVALID_ARGUMENT;
};

/** What the jobs room asks of Temporal. Nothing here waits for a worker. */
export class Temporal {
  readonly #client: Client;
  readonly #connection: Connection;
  readonly #queuePrefix: string;
  readonly #patience: number;
  readonly #breaker = circuitBreaker(handleWhen(concernsAll), {
    halfOpenAfter: OPEN_MS,
    breaker: new ConsecutiveBreaker(FAILURES_TO_OPEN),
  });

  constructor({ address, namespace, queuePrefix, connection, patience }: TemporalOptions) {
    this.#connection = Connection.lazy({ address, ...connection });
    this.#client = new Client({ connection: this.#connection, namespace });
    this.#queuePrefix = queuePrefix;
    this.#patience = patience;
  }

  /** Starts the job's workflow; starting it twice is a no-op. Returns whether Temporal has it. */
  async start(job: Job, deadlineMs = START_DEADLINE_MS): Promise<'started' | 'was there'> {
    return this.#breaker.execute(async () => {
      try {
        await this.#connection.withDeadline(Date.now() + deadlineMs, () => this.#start(job));
        return 'started';
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return 'was there';
        throw error;
      }
    });
  }

  async #start(job: Job): Promise<void> {
    const { workflow, summary } = kinds[job.kind];
    await this.#client.workflow.start(workflow, {
      workflowId: job.workflowId,
      taskQueue: `${this.#queuePrefix}control`,
      args: [{ jobId: job.id, agentId: job.subjectId }],
      workflowIdConflictPolicy: 'FAIL',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...(this.#patience === 1 ? {} : { memo: { patience: this.#patience } }), // read by workflows/patience.ts
      staticSummary: `${summary}: ${job.subjectId}`,
      staticDetails: `Job \`${job.id}\` (${job.kind}) of user \`${job.userId}\`, asked by ${job.requestedByType} \`${job.requestedById}\`.`,
      typedSearchAttributes: [
        { key: searchAttributes.agentId, value: job.agentId ?? job.subjectId },
        { key: searchAttributes.userId, value: job.userId },
        { key: searchAttributes.jobKind, value: job.kind },
      ],
    });
  }

  /** Asks the workflow to cancel; `gone` when there is none to ask. */
  async cancel(job: Job): Promise<'asked' | 'gone'> {
    try {
      await this.#call(() => this.#client.workflow.getHandle(job.workflowId).cancel());
      return 'asked';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'gone';
      throw error;
    }
  }

  /** Ends the workflow as it stands; nothing is undone. One that is closed or gone is left alone. */
  async terminate(job: Job, reason: string): Promise<void> {
    try {
      await this.#call(() => this.#client.workflow.getHandle(job.workflowId).terminate(reason));
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  async stateOf(job: Job): Promise<WorkflowState> {
    try {
      const { status } = await this.#call(() => this.#client.workflow.getHandle(job.workflowId).describe());
      return status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW' ? 'running' : 'closed';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'gone';
      throw error;
    }
  }

  /** Whether Temporal answers now. */
  async isReachable(deadlineMs = 500): Promise<boolean> {
    try {
      await this.#connection.withDeadline(Date.now() + deadlineMs, () =>
        this.#connection.workflowService.getSystemInfo({}),
      );
      return true;
    } catch {
      return false;
    }
  }

  /** False while recent starts failed one after the other: asking again would only make callers wait. */
  get seemsUp(): boolean {
    return this.#breaker.state !== CircuitState.Open;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #call<T>(fn: () => Promise<T>): Promise<T> {
    return this.#connection.withDeadline(Date.now() + CALL_DEADLINE_MS, fn);
  }
}
