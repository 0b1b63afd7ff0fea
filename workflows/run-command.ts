import type { AgentJobInput } from '../activities/job-activity.js';
import { hostOnce } from './activities.js';
import { asCall } from './as-call.js';

/** Runs a command on an agent's machine, at most once. What it is and what it says never come by here. */
export async function runCommand(input: AgentJobInput): Promise<void> {
  await asCall(input, 'run the command', hostOnce().runMachineCommand);
}
