import { setTimeout as sleep } from 'node:timers/promises';
import type { EndpointId } from '../../src/contract/index.js';
import type { ACaller, Reply } from './a-caller.js';
import type { Stack } from './a-stack.js';
import { seeded } from './seeded.js';

/** An agent as its owner was told: only what was acknowledged. */
export interface ToldAgent {
  user: ACaller;
  id: string;
  /** Of the last change acknowledged; each change writes the next number into the persona. */
  persona: number;
  /** Of the last change tried. */
  tried: number;
  /** A deletion was acknowledged. */
  isDeleted: boolean;
  /** A deletion was tried: without an answer it may or may not have been accepted. */
  mayBeDeleted: boolean;
}

export interface Storm {
  agents: ToldAgent[];
  /** Jobs that a 202 named. */
  jobs: { user: ACaller; id: string }[];
  /** How often each status was answered; 0 = no answer at all. */
  answers: Map<number, number>;
  slowestMs: number;
}

export interface StormOptions {
  /** Who call, each one thing after the other. */
  callers: number;
  durationMs: number;
  /** Between the calls of one caller. */
  pauseMs: number;
}

/** Fewer than a plan allows: deletions take a while to make room. */
const AGENTS_A_USER = 3;
const verbs = ['provision', 'start', 'stop', 'delete'] as const;

/** Owners who create, change, provision, start, stop and delete at random, and remember what they were told. */
export const aStorm = async (stack: Stack, { callers, durationMs, pauseMs }: StormOptions): Promise<Storm> => {
  const storm: Storm = { agents: [], jobs: [], answers: new Map(), slowestMs: 0 };
  const until = Date.now() + durationMs;

  const call = async (user: ACaller, ...args: Parameters<ACaller['call']>): Promise<Reply | undefined> => {
    const began = Date.now();
    const reply = await user.call(...args).catch(() => undefined);
    storm.slowestMs = Math.max(storm.slowestMs, Date.now() - began);
    storm.answers.set(reply?.status ?? 0, (storm.answers.get(reply?.status ?? 0) ?? 0) + 1);
    if (reply?.status === 202) storm.jobs.push({ user, id: reply.body.job.id as string });
    return reply;
  };

  const create = async (user: ACaller): Promise<void> => {
    const reply = await call(user, 'agents.create', {}, { body: { name: 'one of a storm', persona: '0' } });
    if (reply?.status !== 201) return;
    const id = reply.body.id as string;
    storm.agents.push({ user, id, persona: 0, tried: 0, isDeleted: false, mayBeDeleted: false });
  };
  const change = async (agent: ToldAgent): Promise<void> => {
    const persona = ++agent.tried;
    const body = { persona: String(persona) };
    const reply = await call(agent.user, 'agents.update', { id: agent.id }, { body });
    if (reply?.status === 200) agent.persona = persona;
  };
  const move = async (agent: ToldAgent, verb: (typeof verbs)[number]): Promise<void> => {
    const endpoint: EndpointId = `agents.${verb}`;
    if (verb === 'delete') agent.mayBeDeleted = true;
    const reply = await call(agent.user, endpoint, { id: agent.id });
    if (verb === 'delete' && reply?.status === 202) agent.isDeleted = true;
  };

  const run = async (user: ACaller, random: () => number): Promise<void> => {
    const own = (): ToldAgent[] => storm.agents.filter((agent) => agent.user === user && !agent.mayBeDeleted);
    while (Date.now() < until) {
      const agents = own();
      const agent = agents[Math.floor(random() * agents.length)];
      const dice = random();
      if (!agent || (agents.length < AGENTS_A_USER && dice < 0.2)) await create(user);
      else if (dice < 0.55) await change(agent);
      else await move(agent, verbs[dice < 0.75 ? 0 : dice < 0.85 ? 1 : dice < 0.95 ? 2 : 3] ?? 'provision');
      await sleep(pauseMs * 2 * random());
    }
  };
  const { next } = seeded();
  await Promise.all(Array.from({ length: callers }, async () => run(await stack.user(), next)));
  return storm;
};
