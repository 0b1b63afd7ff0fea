import type { AgentStatus, DesiredStatus } from '../contract/shapes/agent.js';

/** What is known of an agent's machine: its state in the host's own word, or that the host says it is gone. */
export type Seen = { state: string; gatewayReady: boolean } | 'gone';

interface Known {
  status: AgentStatus;
  desiredStatus: DesiredStatus;
}

export interface Observed {
  status: AgentStatus;
  /** Why the agent is in `error`; absent otherwise. */
  reason?: string;
}

/** States in which nothing runs. Any state the host may invent is kept verbatim and taken as moving. */
const still = new Set(['stopped', 'suspended', 'failed', 'launch_failed', 'destroyed', 'destroying']);

export const isStill = (state: string): boolean => still.has(state);

/** States that only a job leads into, and out of: not an observer's to change. */
const underWay = new Set<AgentStatus>(['provisioning', 'starting', 'stopping', 'updating', 'deleting']);

/**
 * What an agent without a job under way is, given what was seen of its machine. A machine that stopped or vanished by itself, or whose
 * gateway does not answer (it restarts, or hangs), leaves `error` with its reason, from which a start leads out; as soon as the gateway
 * answers again the agent is `online`. One that runs though it should not is told as it is.
 */
export const observe = ({ status, desiredStatus }: Known, seen: Seen): Observed => {
  if (underWay.has(status)) return { status };
  if (seen === 'gone')
    return status === 'error' ? { status } : { status: 'error', reason: 'The machine is gone at the host.' };
  if (still.has(seen.state)) {
    if (desiredStatus === 'online' && status === 'online')
      return { status: 'error', reason: `The machine stopped by itself: the host says ${seen.state}.` };
    return { status };
  }
  if (seen.gatewayReady) return { status: 'online' };
  if (status === 'online')
    return { status: 'error', reason: `The gateway of the machine does not answer: the host says ${seen.state}.` };
  return { status };
};
