import { randomUUID } from 'node:crypto';
import { Client, type Connection } from '@temporalio/client';
import type { Job } from '../../src/contract/shapes/job.js';

/** Resets the workflow of a job as an operator does in the Temporal UI: to its first or its last workflow task. */
export const resetWorkflow = async (connection: Connection, job: Job, to: 'first' | 'last'): Promise<void> => {
  const handle = new Client({ connection }).workflow.getHandle(job.workflowId);
  const { events } = await handle.fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const task = to === 'first' ? tasks[0] : tasks.at(-1);
  if (!task?.eventId) throw new Error('the workflow has done nothing yet');
  const { runId } = await handle.describe();
  await connection.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: job.workflowId, runId },
    reason: 'by hand',
    requestId: randomUUID(),
    workflowTaskFinishEventId: task.eventId,
  });
};
