import type { AgentJobInput } from '../activities/job-activity.js';
import { hostReads } from './activities.js';
import { asCall } from './as-call.js';

/** Reads the log of an agent's machine. */
export async function readLogs(input: AgentJobInput): Promise<void> {
  await asCall(input, 'read the log', hostReads().readMachineLog);
}
