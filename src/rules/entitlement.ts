import { ApiError } from '../contract/errors.js';

/** What a plan allows (spec.md 2.5). */
export interface Entitlement {
  planCode: string;
  rank: number;
  maxAgents: number;
  allowProvisioning: boolean;
  allowStartStop: boolean;
}

export const requireProvisioning = (entitlement: Entitlement): void => {
  if (!entitlement.allowProvisioning)
    throw new ApiError('plan_required', `The plan ${entitlement.planCode} does not include provisioning.`);
};

export const requireStartStop = (entitlement: Entitlement): void => {
  if (!entitlement.allowStartStop)
    throw new ApiError('plan_required', `The plan ${entitlement.planCode} does not include starting and stopping.`);
};

export const requireRoomForAgent = (entitlement: Entitlement, agents: number): void => {
  if (agents >= entitlement.maxAgents)
    throw new ApiError(
      'limit_reached',
      `The plan ${entitlement.planCode} allows ${entitlement.maxAgents} agent${entitlement.maxAgents === 1 ? '' : 's'}.`,
    );
};

/** The plan an agent is to have: the one asked for, when it exists and is at most the owner's; the owner's by default. */
export const choosePlan = (asked: string | undefined, own: Entitlement, ranks: Record<string, number>): string => {
  if (asked === undefined) return own.planCode;
  const rank = Object.hasOwn(ranks, asked) ? ranks[asked] : undefined;
  if (rank === undefined)
    throw new ApiError('invalid_request', `There is no plan ${JSON.stringify(asked)}.`, {
      errors: [{ pointer: '/plan', message: `must be one of ${Object.keys(ranks).join(', ')}` }],
    });
  if (rank > own.rank) throw new ApiError('plan_required', `An agent on ${asked} needs the plan ${asked}.`);
  return asked;
};
