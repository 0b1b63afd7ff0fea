import { setTimeout as sleep } from 'node:timers/promises';
import { Actor } from './actor.js';
import { calmDown } from './calm.js';
import type { SimulatedMode } from './host-calls.js';
import { effectsOf } from './oracle.js';
import { makePlan } from './plan.js';
import { meetPlan } from './pursue.js';
import { type Armed, disarm, injectedBy } from './subject.js';
import type { World } from './world.js';

export interface Verdict {
  seed: number;
  actions: number;
  planned: number;
  injected: number;
  byMode: Partial<Record<SimulatedMode, number>>;
  kills: number;
  jobs: number;
  agentIds: string[];
  seconds: number;
  /** What must never be; empty = passed. */
  wrong: string[];
  trace: string[];
}

const AIM_MS = 4_000;

/** Lives one seed: trouble, then calm. Never throws. */
export const runSeed = async (world: World, seed: number): Promise<Verdict> => {
  const began = Date.now();
  const plan = makePlan(seed);
  const actor = new Actor(world, await world.stack.user(`seed-${seed}`));
  let kills = 0;
  try {
    for (const { gapMs, isAimed, verb, pick, fault, kill } of plan.steps) {
      if (isAimed) await struck(actor.armed.at(-1));
      await sleep(gapMs);
      const subject = actor.picked(pick);
      if (fault) {
        const armed: Armed = { fault, before: 0 };
        actor.armed.push(armed);
        if (subject) actor.arm(armed, subject);
      }
      await actor.act(verb, subject);
      if (kill) {
        kills += 1;
        await actor.kill(kill);
      }
    }
    await meetPlan(actor);
    await calmDown(actor, plan);
  } catch (error) {
    actor.violation(`the seed broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
  for (const armed of actor.armed) disarm(armed);
  const planned = actor.armed.reduce((sum, { fault }) => sum + fault.times, 0);
  const injected = actor.armed.reduce((sum, armed) => sum + injectedBy(armed), 0);
  const missed = actor.armed.filter((armed) => injectedBy(armed) < armed.fault.times);
  for (const { fault } of missed) actor.violation(`${fault.mode} at ${fault.call} was planned and not injected`);
  return {
    seed,
    actions: actor.actions,
    planned,
    injected,
    byMode: countByMode(actor.armed),
    kills,
    jobs: actor.subjects.reduce((sum, { jobIds }) => sum + jobIds.length, 0),
    agentIds: actor.subjects.map(({ id }) => id),
    seconds: (Date.now() - began) / 1_000,
    wrong: actor.wrong,
    trace: [...actor.trace, ...effectLines(world, actor)],
  };
};

/** Waits until the fault has struck once; not for ever, it may wait where nothing comes by. */
const struck = async (armed: Armed | undefined): Promise<void> => {
  if (!armed) return;
  for (const until = Date.now() + AIM_MS; injectedBy(armed) === 0 && Date.now() < until;) await sleep(20);
};

const countByMode = (armed: readonly Armed[]): Verdict['byMode'] => {
  const counts: Verdict['byMode'] = {};
  for (const one of armed) counts[one.fault.mode] = (counts[one.fault.mode] ?? 0) + injectedBy(one);
  return counts;
};

/** What the host did for the agents of the seed. */
const effectLines = ({ stack }: World, { subjects }: Actor): string[] => {
  const effects = stack.host.effects();
  return subjects.flatMap(({ letter, id }) =>
    effectsOf(effects, id).map((effect) => `host ${letter} ${effect.at} ${effect.action} ${effect.id}`),
  );
};
