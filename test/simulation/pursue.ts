import type { Actor } from './actor.js';
import { hostCall, type Route } from './host-calls.js';
import { type Armed, injectedBy, type Subject } from './subject.js';

const TRIES = 3;

/** A seed that injected less than it planned goes on acting until the rest has struck, too. */
export const meetPlan = async (actor: Actor): Promise<void> => {
  for (let tries = 0; tries < TRIES; tries++)
    for (const armed of actor.armed) {
      if (injectedBy(armed) >= armed.fault.times) continue;
      actor.note(`${armed.fault.mode} at ${armed.fault.call} did not strike: acting on`);
      actor.actions += 1;
      await roads[hostCall(armed.fault.call).route](actor, armed);
    }
};

/** What surely leads to a call of that route, with the fault waiting there. */
const roads: Record<Route, (actor: Actor, armed: Armed) => Promise<void>> = {
  provision: async (actor, armed) => {
    const subject = await aNewOne(actor);
    if (!subject) return;
    actor.arm(armed, subject);
    await actor.finish('provision', subject);
  },
  start: async (actor, armed) => {
    const subject = await anOnlineOne(actor);
    if (!subject) return;
    await actor.finish('stop', subject);
    actor.arm(armed, subject);
    await actor.finish('start', subject);
  },
  stop: async (actor, armed) => {
    const subject = await anOnlineOne(actor);
    if (!subject) return;
    actor.arm(armed, subject);
    await actor.finish('stop', subject);
  },
  delete: async (actor, armed) => {
    const subject = await anOnlineOne(actor);
    if (!subject) return;
    actor.arm(armed, subject);
    await actor.finish('delete', subject);
  },
  reconcile: async (actor, armed) => {
    const [subject] = actor.subjects;
    if (!subject) return;
    actor.arm(armed, subject);
    actor.reconcileSoon();
    await actor.backgroundDone();
  },
};

/** A new agent; room is made for it when the plan is exhausted. */
const aNewOne = async (actor: Actor): Promise<Subject | undefined> => {
  const subject = await actor.create();
  if (subject) return subject;
  const [oldest] = actor.living;
  if (oldest) await actor.finish('delete', oldest);
  return actor.create();
};

const anOnlineOne = async (actor: Actor): Promise<Subject | undefined> => {
  const subject = actor.living.at(-1) ?? (await aNewOne(actor));
  if (!subject) return undefined;
  await actor.ended(subject);
  await bringOnline(actor, subject);
  return subject;
};

/** A start, which repairs, or a provision where there is nothing to start. Returns what the agent is then. */
export const bringOnline = async (actor: Actor, subject: Subject): Promise<string> => {
  const id = subject.id;
  const before = await actor.caller.agent(id);
  if (before.status !== 'online') {
    const started = before.hostMachineId === null ? undefined : await actor.finish('start', subject);
    if (!started) await actor.finish('provision', subject);
  }
  return (await actor.caller.agent(id)).status;
};
