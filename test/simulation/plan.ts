import { seeded } from '../support/seeded.js';
import {
  hostCall,
  hostCallNames,
  type HostCallName,
  type PlannedFault,
  type Route,
  type SimulatedMode,
} from './host-calls.js';

export type Verb =
  | 'create'
  | 'provision'
  | 'start'
  | 'stop'
  | 'clone'
  | 'delete'
  | 'cancel'
  | 'reconcile'
  | 'power-cut';
export type KilledWorker = 'host' | 'control' | 'host-background';

export interface Step {
  /** Milliseconds after the answer to the step before. */
  gapMs: number;
  verb: Verb;
  /** Which of the agents there are, modulo their number. */
  pick: number;
  /** Armed on that agent just before. */
  fault?: PlannedFault;
  /** Killed just after. */
  kill?: KilledWorker;
}

/** All that a seed decides. */
export interface Plan {
  seed: number;
  steps: Step[];
  /** What becomes of the agents in the calm phase, in turn; all are deleted in the end. */
  calm: ('stop' | 'delete' | 'keep')[];
}

type Weighted<T> = readonly (readonly [T, number])[];

const verbs: Weighted<Verb> = [
  ['create', 2],
  ['provision', 6],
  ['start', 5],
  ['stop', 5],
  ['clone', 2],
  ['delete', 4],
  ['cancel', 4],
  ['reconcile', 2],
  ['power-cut', 1],
];
const kills: Weighted<KilledWorker | undefined> = [
  [undefined, 40],
  ['host', 1],
  ['control', 0.4],
  ['host-background', 0.2],
];
const routes: Partial<Record<Verb, readonly Route[]>> = {
  provision: ['provision', 'start'],
  start: ['start'],
  stop: ['stop'],
  delete: ['delete'],
  reconcile: ['reconcile'],
};
/** Of the steps that can have a fault. */
const FAULTY_SHARE = 0.6;
/** A silent host costs 20 s each time, at a machine's creation 45. */
const SILENCE_SHARE = 0.6;
/** Of second volumes, whose removal fails, too. */
const BOTCHED_SHARE = 0.6;
/** Of the steps after a delay. */
const AIMED_SHARE = 0.5;
/** Longer than a cancel takes to arrive, shorter than a dead worker takes to be noticed. */
export const LONGEST_DELAY_MS = 6_000;
const SHORT_DELAY_MS = 2_000;

/** Decides by the seed alone. */
export const makePlan = (seed: number): Plan => {
  const { next } = seeded(seed);
  // Neighbouring seeds begin alike.
  for (let turns = 0; turns < 5; turns++) next();
  const below = (limit: number): number => Math.floor(next() * limit);
  const oneOf = <T>(items: readonly T[]): T => items[below(items.length)] as T; // never empty
  const weighted = <T>(choices: Weighted<T>): T => {
    let left = next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [choice, weight] of choices) if ((left -= weight) < 0) return choice;
    return (choices[0] as readonly [T, number])[0]; // never empty
  };

  const modeFor = (modes: readonly SimulatedMode[]): SimulatedMode => {
    const mode = oneOf(modes);
    return mode !== 'timeout-after' || next() < SILENCE_SHARE ? mode : 'reset-after';
  };

  /** What creates is where most can go wrong. */
  const weightOf = (name: HostCallName): number => (name.endsWith('.create') ? 2.5 : 1);

  const faultFor = (verb: Verb): PlannedFault | undefined => {
    const wanted = routes[verb];
    if (!wanted || next() > FAULTY_SHARE) return undefined;
    const fitting = hostCallNames.filter((name) => wanted.includes(hostCall(name).route));
    const call = weighted(fitting.map((name) => [name, weightOf(name)] as const));
    const mode = modeFor(hostCall(call).modes);
    if (mode === 'twice' && call === 'volume.create' && next() < BOTCHED_SHARE) {
      const also = {
        call: 'volume.delete',
        mode: oneOf(['error-before', 'error-after', 'reset-after'] as const),
        times: 1,
      } as const;
      return { call, mode, times: 1, also };
    }
    if (mode === 'capacity') return { call, mode, times: call === 'volume.create' ? 1 + below(2) : 1 };
    if (mode === 'delay')
      return { call, mode, times: 1, delayMs: 100 + below(next() < 0.4 ? LONGEST_DELAY_MS - 100 : SHORT_DELAY_MS) };
    if (mode === 'rate-limit') return { call, mode, times: 1, retryAfter: 1 + below(2) };
    if (mode === 'error-before') return { call, mode, times: 1 + below(3), status: oneOf([500, 502, 503]) };
    if (mode === 'error-after') return { call, mode, times: 1, status: 500 };
    return { call, mode, times: 1 };
  };

  const gap = (): number =>
    weighted<() => number>([
      [() => below(150), 3],
      [() => below(800), 5],
      [() => 800 + below(1_700), 2],
    ])();

  const step = (verb: Verb, pick: number): Step => {
    const fault = faultFor(verb);
    const kill = weighted(kills);
    return { gapMs: gap(), verb, pick, ...(fault ? { fault } : {}), ...(kill ? { kill } : {}) };
  };

  const steps = [step('create', 0), step('provision', 0)];
  for (let left = 6 + below(8); left > 0; left--) {
    // While the host takes its time is the moment to change one's mind.
    const { fault, pick } = steps.at(-1) ?? {};
    const isAimed = fault?.delayMs !== undefined && next() < AIMED_SHARE;
    const then = isAimed ? step(oneOf(['delete', 'cancel', 'stop']), pick ?? 0) : step(weighted(verbs), below(60));
    steps.push(isAimed ? { ...then, gapMs: 50 + below(Math.min(fault?.delayMs ?? 0, SHORT_DELAY_MS) + 300) } : then);
  }
  const calm = Array.from({ length: 8 }, () => oneOf(['stop', 'delete', 'keep'] as const));
  return { seed, steps, calm };
};

export const plannedFaults = ({ steps }: Plan): PlannedFault[] => steps.flatMap(({ fault }) => fault ?? []);
