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
export const stillStates: ReadonlySet<string> = new Set([
  'stopped',
  'suspended',
  'failed',
  'launch_failed',
  'destroyed',
  'destroying',
]);

export const isStill = (state: string): boolean => stillStates.has(state);

/** States that only a job leads into, and out of: not an observer's to change. */
const underWay = new Set<AgentStatus>(['provisioning', 'starting', 'stopping', 'updating', 'deleting']);

/**
 * What an agent without a job under way is, given what was seen of its machine. A machine that stopped or vanished by itself, or whose
 * gateway does not answer (it restarts, or hangs), leaves `error` with its reason, from which a start leads out; as soon as the gateway
 * answers again the agent is `online`. One that runs though it should not is told as it is, and is `offline` when it answers no more.
 */
export const observe = ({ status, desiredStatus }: Known, seen: Seen): Observed => {
  // A deletion that failed is not undone by a machine that still runs.
  if (underWay.has(status) || desiredStatus === 'deleted') return { status };
  if (seen === 'gone')
    return status === 'error' ? { status } : { status: 'error', reason: 'The machine is gone at the host.' };
  const stands = isStill(seen.state);
  if (!stands && seen.gatewayReady) return { status: 'online' };
  if (status !== 'online') return { status };
  // It ran against its owner's wish, and does no more.
  if (desiredStatus === 'offline') return { status: 'offline' };
  const what = stands ? 'The machine stopped by itself' : 'The gateway of the machine does not answer';
  return { status: 'error', reason: `${what}: the host says ${seen.state}.` };
};
