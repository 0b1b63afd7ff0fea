import { type CallKind, isCall, type JobError, type JobKind, type MovingKind } from '../contract/shapes/job.js';

/** What happened to an agent, for somebody who knows of no host, workflow or volume. */
const whatHappened: Record<string, string> = {
  conflict: "What the machine host has of this agent is not as it should be, and the agent's data is left untouched.",
  deadline_exceeded: 'It took too long and was given up.',
  host_capacity:
    "There is no room for the agent's machine at present, where its data is or in any region for a new one.",
  host_unreachable: 'The machine host did not answer for several minutes.',
  internal: 'Something went wrong on our side.',
  machine_not_ready: 'The machine was started, but the agent on it did not answer.',
  not_found: 'The machine vanished while this was under way.',
  operation_in_progress: 'What was under way before this did not end in time.',
  outcome_unknown: 'It broke off, and nobody can say how far it came.',
  upstream_failed: 'The machine host did not do what it was asked to.',
  vendor_misconfigured: 'The machine host does not let us in at present.',
};

const waysOut: Record<MovingKind, string> = {
  'agent.provision': 'Provision the agent again later, or delete it.',
  'agent.start': 'Start the agent again later, or delete it.',
  'agent.stop': 'Stop the agent again later, or delete it.',
  'agent.rotate-gateway-token': 'Start the agent again, then ask for the new token once more.',
  'agent.delete': 'Delete the agent again later: that goes on from where it came.',
};
const ARE_TOLD = 'The operators see it and look after it.';

const unrun: Record<CallKind, string> = {
  'agent.command': 'The command has not run.',
  'agent.logs': 'The log was not read.',
};
/** `…`: that it has not run, in the words for its kind. */
const callAdvice: Record<string, string> = {
  agent_not_online: "The agent's machine does not run. … Start the agent, then ask again.",
  conflict: 'The machine was busy with a change. … Ask again in a minute.',
  deadline_exceeded: 'It outlived its time and was ended. Allow it more time, or ask for less.',
  host_unreachable: 'The machine host could not be reached. … Ask again in a few minutes.',
  outcome_unknown: 'It was begun, and nobody can say what became of it. Look what it did before you run it again.',
  payload_too_large: 'It ran, and wrote more than is read. Let it write less, or into a file.',
  rate_limited: 'The machine host was asked for too much at once. … Ask again in a minute.',
  unavailable: 'Nothing was there to do it. … Ask again in a few minutes.',
};

type Told = Pick<JobError, 'code' | 'message' | 'needsOperator'>;

/**
 * A job's error in words for the agent's owner: what happened, and the way out. A code that is not known here, or is no failure
 * (`canceled`), keeps the message it has.
 */
export const ownerMessage = (kind: JobKind, { code, message, needsOperator }: Told): string => {
  const what = whatHappened[code];
  if (isCall(kind)) {
    const advice = callAdvice[code]?.replace('…', unrun[kind]);
    return advice ?? (what === undefined ? message : `${what} Ask again later.`);
  }
  if (what === undefined) return message;
  return [what, ...(needsOperator ? [ARE_TOLD] : []), waysOut[kind]].join(' ');
};

/** What an operator does about a job that waits for one, by its code; docs/lifecycle.md has the same table with what happened. */
const operatorAdvice: Record<string, string> = {
  conflict:
    'Find the data at the host: rename or remove the volume that is wrong, then retry. A volume deleted at the host can be had back for a day.',
  deadline_exceeded: 'Look whether the workers run (/readyz), and whether Temporal does; then retry.',
  internal: "Look for `unexpected error` with the job's id in the log of the worker, mend it, then retry.",
  outcome_unknown:
    'Look at the workflow in Temporal and at the app at the host. A start or a deletion by the owner leads out, so does a retry.',
  upstream_failed: 'Look at MACHINE_IMAGE, HOST_REGIONS and the like, then retry.',
  vendor_misconfigured: 'Mend HOST_API_TOKEN, HOST_ORG, then retry.',
};
const AFTER_DELETION = 'Look at the app at the host, mend what the code says, then retry.';
const NOT_UNDONE =
  'When the host is well again, retry; or delete the app at the host and let the owner delete the agent.';

/** Any other code is on the list because what the job had done could not be undone. */
export const adviceForOperator = (kind: JobKind, code: string): string => {
  const byCode = operatorAdvice[code];
  if (kind !== 'agent.delete') return byCode ?? NOT_UNDONE;
  return byCode === undefined ? AFTER_DELETION : `${AFTER_DELETION} ${byCode}`;
};
