import type { Plans } from '../plans.js';
import type { Entitlement } from '../rules/entitlement.js';

/** What the user may do. Until there is billing everyone is on `free`. */
export const entitlementOf = (plans: Plans, _userId: string): Entitlement => {
  const plan = plans.plans['free'];
  if (!plan) throw new Error('the plan file has no plan `free`'); // readPlans refuses such a file
  return { planCode: 'free', ...plan };
};

export const planRanks = (plans: Plans): Record<string, number> =>
  Object.fromEntries(Object.entries(plans.plans).map(([code, plan]) => [code, plan.rank]));
