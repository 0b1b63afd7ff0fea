import type { AddedFault } from '../../local/faults.js';
import type { PlannedFault } from './host-calls.js';

/** An agent of a seed, and what was acknowledged about it. */
export interface Subject {
  /** As the trace calls it: A, B, … */
  letter: string;
  id: string;
  /** Jobs accepted by a call, oldest first. */
  jobIds: string[];
  powerCuts: number[];
  isDeleted: boolean;
  /** The host was made to refuse for lack of room; to create a volume twice. */
  capacityRefused: boolean;
  volumeTwice: boolean;
}

/** A fault of the plan, and where it waits. */
export interface Armed {
  fault: PlannedFault;
  /** Absent while it waits nowhere. */
  at?: AddedFault;
  /** How often it struck where it waited before. */
  before: number;
  /** What waits beside it. */
  also?: AddedFault;
}

export const injectedBy = ({ at, before }: Armed): number => before + (at?.injected() ?? 0);

/** Takes the fault back; what it did so far counts. */
export const disarm = (armed: Armed): void => {
  armed.before = injectedBy(armed);
  armed.at?.remove();
  armed.also?.remove();
  delete armed.at;
  delete armed.also;
};

export const aSubject = (id: string, count: number): Subject => ({
  letter: String.fromCodePoint(65 + (count % 26)),
  id,
  jobIds: [],
  powerCuts: [],
  isDeleted: false,
  capacityRefused: false,
  volumeTwice: false,
});
