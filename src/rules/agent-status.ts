import type { AgentStatus, DesiredStatus } from '../contract/shapes/agent.js';
import type { JobStatus, MovingKind } from '../contract/shapes/job.js';

/** What an accepted job makes of its agent at once. */
export const onAccepted: Record<MovingKind, { status: AgentStatus; desiredStatus?: DesiredStatus }> = {
  'agent.provision': { status: 'provisioning', desiredStatus: 'online' },
  'agent.start': { status: 'starting', desiredStatus: 'online' },
  'agent.stop': { status: 'stopping', desiredStatus: 'offline' },
  'agent.delete': { status: 'deleting', desiredStatus: 'deleted' },
  'agent.rotate-gateway-token': { status: 'updating' },
};

type Ended = Exclude<JobStatus, 'queued' | 'running'>;

/**
 * What the agent is when its job has ended. A failed job leaves `error`, from which start, stop and delete lead out;
 * a canceled one has undone its work and leaves the machine off.
 */
export const onEnded = (
  kind: MovingKind,
  ended: Ended,
  code?: string,
): { status: AgentStatus; desiredStatus?: DesiredStatus } => {
  // Canceled, and not undone: nobody wants it to run any more.
  if (ended === 'failed' && (code === 'canceled' || code === 'superseded'))
    return { status: 'error', desiredStatus: 'offline' };
  if (ended === 'failed') return { status: 'error' };
  if (ended === 'canceled') return { status: 'offline', desiredStatus: 'offline' };
  switch (kind) {
    case 'agent.provision':
    case 'agent.start':
      return { status: 'online' };
    case 'agent.stop':
      return { status: 'offline' };
    case 'agent.delete':
      return { status: 'deleting' };
    // Its last step has asked the gateway, whoever wished it to run.
    case 'agent.rotate-gateway-token':
      return { status: 'online' };
  }
};
