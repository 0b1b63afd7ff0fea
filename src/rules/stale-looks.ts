/** With one agent in so many, every one has its turn within 17 minutes at a pass every 20 s; more than so many would hold up the pass. */
const SHARE = 1 / 50;
const [LEAST, MOST] = [20, 200];

/** Agents online whose machine and gateway one pass looks at without a reason, those looked at longest ago. */
export const staleLooks = (online: number): number => Math.min(MOST, Math.max(LEAST, Math.ceil(online * SHARE)));
