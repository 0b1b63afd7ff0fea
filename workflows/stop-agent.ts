import type { AgentJobInput } from '../activities/job-activity.js';
import { host, hostWaits } from './activities.js';
import { asJob } from './as-job.js';
import { patience } from './patience.js';

const steps = ['stop the machine', 'wait until it stands still'] as const;

/** Stops an agent's machine, after what it supersedes has been undone. */
export async function stopAgent(input: AgentJobInput): Promise<void> {
  await asJob(input, { deadlineSeconds: 10 * 60, steps }, async (job) => {
    await job.step('stop the machine', host().stopHostMachine);
    await job.step('wait until it stands still', hostWaits().awaitMachineStopped, { patienceSeconds: patience(120) });
  });
}
