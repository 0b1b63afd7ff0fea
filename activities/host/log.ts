import { randomUUID } from 'node:crypto';
import { VendorError } from '../../src/providers/vendor-error.js';
import { Agent } from '../../src/models/agent.js';
import { beginCall, takeOverCall } from '../../src/models/begin-call.js';
import { Job } from '../../src/models/job.js';
import { answerCall } from '../../src/models/settle-call.js';
import { logTail } from '../../src/rules/log-lines.js';
import { jobActivity, type StepInput } from '../job-activity.js';
import { STATE_DIR } from '../machine-config.js';
import { execWithinLimits, MAX_OUTPUT_BYTES } from './call.js';
import type { HostDeps } from './deps.js';

const DEADLINE_SECONDS = 60;
const READ_SECONDS = 8;

/** The older half of the log first. Without a log there is nothing to read, which is no failure. */
const SCRIPT = [
  `cd "\${ACP_STATE_DIR:-${STATE_DIR}}" 2>/dev/null || exit 0`,
  'cat runtime.log.1 runtime.log 2>/dev/null | tail -n "$1" | tail -c "$2"',
].join('\n');

/** One byte more than is taken tells that there is more. */
const readCommand = (lines: number): string[] => [
  'sh',
  '-c',
  SCRIPT,
  'sh',
  String(lines),
  String(MAX_OUTPUT_BYTES + 1),
];

/** Reads the runtime's log from the machine's volume (decision 19). Reading twice does no harm. */
export const makeLogActivities = (deps: HostDeps) => {
  const { db, keys } = deps;
  return {
    readMachineLog: jobActivity(db, async (input: StepInput, { signal }): Promise<void> => {
      const { jobId, agentId } = input;
      const attempt = randomUUID();
      const begun = await beginCall(db, { jobId, attempt, step: 'read the log', deadlineSeconds: DEADLINE_SECONDS });
      if (begun === 'ended') return;
      if (begun === 'late') throw new VendorError('unavailable', 'The log was not read in time.', { retryable: false });
      if (begun === 'begun before') await takeOverCall(db, jobId, attempt);
      const agent = await Agent.query(db).findById(agentId).throwIfNotFound();
      const { params } = await Job.query(db).findById(jobId).throwIfNotFound();
      const tail = Number(params['tail']);
      const command = { command: readCommand(tail), timeoutSeconds: READ_SECONDS };
      const { stdout, exitCode } = await execWithinLimits(deps, agent, command, signal);
      if (exitCode !== 0)
        throw new VendorError('upstream_failed', 'The log could not be read on the machine.', { retryable: false });
      const isCut = Buffer.byteLength(stdout) > MAX_OUTPUT_BYTES;
      const { lines, truncated } = logTail(stdout, tail, MAX_OUTPUT_BYTES, isCut);
      await answerCall(db, keys, { jobId, attempt, result: { truncated }, answer: { lines } });
    }),
  };
};
