import { readFileSync } from 'node:fs';
import { z } from 'zod';

const count = z.number().int().nonnegative();
const Plan = z.strictObject({
  /** Order of the plans: an agent may be on a plan up to its owner's. */
  rank: z.number().int(),
  maxAgents: count,
  includedMessages: count,
  includedTokens: count,
  includedSearchRequestsWeekly: count,
  allowProvisioning: z.boolean(),
  allowStartStop: z.boolean(),
});
const Plans = z.strictObject({
  currency: z.string(),
  unitPriceCents: z.number().int().positive(),
  plans: z.record(z.string(), Plan).refine((plans) => 'free' in plans, 'must have a plan `free`'),
});
export type Plans = z.infer<typeof Plans>;

/** Reads the plan file; throws with every fault in it. */
export const readPlans = (path: string): Plans => {
  const parsed = Plans.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!parsed.success) throw new Error(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
};
