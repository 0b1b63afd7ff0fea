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
  /** The gap begins when the fault of the step before has struck. */
  isAimed?: true;
  verb: Verb;
  /** Which of the agents there are, modulo their number; NEWEST is the last one. */
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
  calm: ('stop' | 'delete' | 'keep' | 'power-cut')[];
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
const AIMED_SHARE = 0.7;
/** Of the steps, each of which becomes three. */
const AMBUSH_SHARE = 0.1;
/** A cancel has arrived after so long, or nearly. */
const AMBUSH_MS = 3_000;
/** Of the provisions: where there is surely something to create. */
const NEW_SHARE = 0.6;
export const NEWEST = -1;
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
      return { call, mode, times: 1, delayMs: 100 + below(next() < 0.5 ? LONGEST_DELAY_MS - 100 : SHORT_DELAY_MS) };
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

  /** Someone changes their mind while the host is slow about what creates or starts. */
  const ambush = (): Step[] => {
    const isProvision = next() < 0.65;
    const call = isProvision
      ? oneOf(['app.create', 'app.create', 'volume.create', 'secrets.set', 'machine.create', 'gateway'] as const)
      : oneOf(['secrets.set', 'machine.update', 'machine.start', 'machine.start', 'gateway'] as const);
    const fault = { call, mode: 'delay', times: 1, delayMs: AMBUSH_MS + below(LONGEST_DELAY_MS - AMBUSH_MS) } as const;
    const first: Step[] = isProvision
      ? [{ ...step(oneOf(['create', 'clone'] as const), below(60)), gapMs: gap() }]
      : [{ gapMs: gap(), verb: 'stop', pick: NEWEST }];
    return [
      ...first,
      {
        gapMs: isProvision ? below(200) : 1_500 + below(1_000),
        verb: isProvision ? 'provision' : 'start',
        pick: NEWEST,
        fault,
      },
      { gapMs: below(600), isAimed: true, verb: oneOf(['delete', 'delete', 'cancel', 'stop'] as const), pick: NEWEST },
    ];
  };

  const steps = [step('create', 0), step('provision', NEWEST)];
  for (let left = 5 + below(7); left > 0; left--) {
    const { fault, pick = 0 } = steps.at(-1) ?? {};
    if (fault?.delayMs !== undefined && next() < AIMED_SHARE) {
      // While the host takes its time is the moment to change one's mind.
      const aimed = step(oneOf(['delete', 'delete', 'cancel', 'stop'] as const), pick);
      steps.push({ ...aimed, isAimed: true, gapMs: below(fault.delayMs / 2) });
      continue;
    }
    if (next() < AMBUSH_SHARE) {
      steps.push(...ambush());
      continue;
    }
    const verb = weighted(verbs);
    steps.push(step(verb, verb === 'provision' && next() < NEW_SHARE ? NEWEST : below(60)));
  }
  const calm = Array.from({ length: 8 }, () => oneOf(['stop', 'delete', 'keep', 'power-cut'] as const));
  return { seed, steps, calm };
};

export const plannedFaults = ({ steps }: Plan): PlannedFault[] => steps.flatMap(({ fault }) => fault ?? []);
