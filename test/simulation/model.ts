import type { AgentStatus } from '../../src/contract/shapes/agent.js';
import type { Job } from '../../src/contract/shapes/job.js';

/** What the service acknowledged about an agent, in order. */
export interface Acknowledged {
  /** Jobs accepted by a call (202), each with how it ended. */
  jobs: readonly Job[];
  /** Moments at which the machine lost power, in milliseconds. */
  powerCuts: readonly number[];
}

export interface Expected {
  /** What the agent may be now; gone = 404. */
  status: readonly (AgentStatus | 'gone')[];
  /** How many machines may run. `as status`: one if it is online, none if it is not. */
  running: 0 | 1 | 'as status';
}

const nothing: Expected = { status: ['offline'], running: 0 };

/** The whole model: what an agent is when nothing is under way any more and the reconciler has looked. */
export const expectedOf = ({ jobs, powerCuts }: Acknowledged): Expected => {
  const last = jobs.at(-1);
  if (!last) return nothing;
  const hadNoPower = powerCuts.some((at) => at > Date.parse(last.createdAt));
  // A job that no worker had begun when it was canceled leaves things as they were.
  if (last.status === 'canceled' && last.startedAt === null) return expectedOf({ jobs: jobs.slice(0, -1), powerCuts });
  if (last.status === 'canceled') return nothing;
  if (last.status !== 'succeeded') return { status: ['error'], running: 0 };
  if (last.kind === 'agent.delete') return { status: ['gone'], running: 0 };
  if (last.kind === 'agent.stop') return nothing;
  if (hadNoPower) return { status: ['online', 'error'], running: 'as status' };
  return { status: ['online'], running: 1 };
};

/** What may make a job fail although everything is done right. */
export interface Excuses {
  /** The host refused for lack of room. */
  capacity: boolean;
  powerCut: boolean;
}

/** Why the job should not have ended as it did; undefined when it should. */
export const unexcused = ({ status, error, kind }: Job, excuses: Excuses): string | undefined => {
  if (status === 'succeeded') return undefined;
  if (error?.needsOperator) return `needs an operator (${error.code})`;
  if (status === 'canceled') {
    if (kind === 'agent.delete') return 'a deletion was canceled';
    return ['canceled', 'superseded'].includes(error?.code ?? '') ? undefined : `canceled with ${error?.code}`;
  }
  if (error?.code === 'host_capacity' && excuses.capacity) return undefined;
  if (error?.code === 'machine_not_ready' && excuses.powerCut) return undefined;
  return `failed with ${error?.code}: ${error?.message}`;
};
