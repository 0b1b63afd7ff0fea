import type { AgentJobInput } from '../activities/job-activity.js';
import { hostTearDown } from './activities.js';
import { asJob } from './as-job.js';

const steps = ['delete the machine', 'delete the app and its volume'] as const;

/** Tears everything of an agent down, after what was under way has been undone; waits for that a bounded time only. */
export async function deleteAgent(input: AgentJobInput): Promise<void> {
  await asJob(input, { deadlineSeconds: 60 * 60, steps, patienceSeconds: 120, takeOver: true }, async (job) => {
    await job.step('delete the machine', hostTearDown().deleteHostMachine);
    await job.step('delete the app and its volume', hostTearDown().deleteHostApp);
  });
}
