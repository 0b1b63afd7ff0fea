import type { Agent } from '../../src/models/agent.js';

/** Looks of one pass that may fail in a region before it is asked no more. */
const MOST_FAILURES = 5;

const regionOf = (agent: Agent): string => agent.region ?? agent.machine?.region ?? 'unknown';

/** Which regions of the host have fallen silent in one pass: the others are looked at all the same. */
export const makeSilence = () => {
  const failures = new Map<string, number>();
  return {
    isSilent: (agent: Agent): boolean => (failures.get(regionOf(agent)) ?? 0) >= MOST_FAILURES,

    noteFailure: (agent: Agent): void => {
      failures.set(regionOf(agent), (failures.get(regionOf(agent)) ?? 0) + 1);
    },

    regions: (): string[] => [...failures].filter(([, count]) => count >= MOST_FAILURES).map(([region]) => region),
  };
};

export type Silence = ReturnType<typeof makeSilence>;
