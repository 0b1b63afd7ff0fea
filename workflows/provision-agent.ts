import type { AgentJobInput } from '../activities/job-activity.js';
import { host, hostUndo, hostWaits } from './activities.js';
import { asJob } from './as-job.js';
import { patience } from './patience.js';

const steps = [
  'create the app',
  'create the volume',
  'hand over the credentials',
  'create the machine',
  'wait until it has started',
  'wait until it is ready',
] as const;

/** Gives an agent its app, volume and machine, and waits until its gateway answers. */
export async function provisionAgent(input: AgentJobInput): Promise<void> {
  await asJob(input, { deadlineSeconds: 15 * 60, steps }, async (job) => {
    job.undo('wait until nothing runs', hostUndo().awaitMachineStopped, { patienceSeconds: patience(90) });
    job.undo('undo what was created', hostUndo().undoProvision);
    await job.step('create the app', host().createHostApp);
    await job.step('create the volume', host().createHostVolume);
    await job.step('hand over the credentials', host().setHostSecrets);
    await job.step('create the machine', host().createHostMachine);
    await job.step('wait until it has started', hostWaits().awaitMachineStarted, { patienceSeconds: patience(180) });
    await job.step('wait until it is ready', hostWaits().awaitGatewayReady, { patienceSeconds: patience(180) });
  });
}
