import { Client, Connection, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { Config } from '../config.js';
import type * as workflows from '../../workflows/index.js';

interface Planned {
  id: string;
  workflow: Extract<keyof typeof workflows, string>;
  every: Duration;
}

/** What runs by itself. An overrun pass is not run twice, a backlog is not run at all. */
const planned: Planned[] = [{ id: 'reconcile-host', workflow: 'reconcileHost', every: '20s' }];

/** Creates the schedules that are missing and brings the others up to date; returns their ids. */
export const applySchedules = async (config: Config<'admin'>): Promise<string[]> => {
  const connection = await Connection.connect({
    address: config.TEMPORAL_ADDRESS,
    tls: config.TEMPORAL_TLS || config.TEMPORAL_API_KEY !== undefined,
    ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY }),
  });
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
  const prefix = config.TEMPORAL_QUEUE_PREFIX;
  try {
    for (const { id, workflow, every } of planned) {
      const spec = { intervals: [{ every }] };
      const action = {
        type: 'startWorkflow' as const,
        workflowType: workflow as string,
        workflowId: prefix + id,
        taskQueue: `${prefix}control`,
        args: [],
        staticSummary: 'One pass of the reconciler',
      };
      const policies = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' as const };
      try {
        await client.schedule.create({ scheduleId: prefix + id, spec, action, policies });
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await client.schedule.getHandle(prefix + id).update(({ state }) => ({ spec, action, policies, state }));
      }
    }
    return planned.map(({ id }) => prefix + id);
  } finally {
    await connection.close();
  }
};
