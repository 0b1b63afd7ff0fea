import type { AgentJobInput } from '../activities/job-activity.js';
import { host, hostUndo, hostWaits } from './activities.js';
import { asJob } from './as-job.js';
import { patience } from './patience.js';

const steps = [
  'hand over fresh credentials',
  'configure the machine',
  'start the machine',
  'wait until it has started',
  'wait until it is ready',
] as const;

/** Starts an agent's machine with fresh credentials and waits until its gateway answers. */
export async function startAgent(input: AgentJobInput): Promise<void> {
  await asJob(input, { deadlineSeconds: 10 * 60, steps }, async (job) => {
    job.undo('wait until it stands still', hostUndo().awaitMachineStopped, { patienceSeconds: patience(90) });
    job.undo('stop the machine', hostUndo().stopHostMachine);
    await job.step('hand over fresh credentials', host().setHostSecrets);
    await job.step('configure the machine', host().configureHostMachine);
    await job.step('start the machine', host().startHostMachine);
    await job.step('wait until it has started', hostWaits().awaitMachineStarted, { patienceSeconds: patience(180) });
    await job.step('wait until it is ready', hostWaits().awaitGatewayReady, { patienceSeconds: patience(180) });
  });
}
