import type { AgentJobInput } from '../activities/job-activity.js';
import { host, hostWaits } from './activities.js';
import { asJob } from './as-job.js';
import { patience } from './patience.js';

const steps = [
  'hand over the new token',
  'restart the machine with it',
  'wait until it has started',
  'wait until it is ready',
] as const;

/** Hands the machine its new gateway token; the old one dies when the machine answers with the new one. */
export async function rotateGatewayToken(input: AgentJobInput): Promise<void> {
  await asJob(input, { deadlineSeconds: 10 * 60, steps }, async (job) => {
    await job.step('hand over the new token', host().setHostSecrets);
    await job.step('restart the machine with it', host().configureHostMachine);
    await job.step('wait until it has started', hostWaits().awaitMachineStarted, { patienceSeconds: patience(180) });
    await job.step('wait until it is ready', hostWaits().awaitGatewayReady, { patienceSeconds: patience(180) });
  });
}
