import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor } from './actor.js';
import { expectedOf, unexcused } from './model.js';
import { LONGEST_DELAY_MS, type Plan, plannedFaults } from './plan.js';
import { judge } from './oracle.js';
import { bringOnline } from './pursue.js';
import { disarm, type Subject } from './subject.js';
import { livingRows, livingTokens } from './invariants.js';

const RECONCILE_TRIES = 5;

/** No trouble any more: everything must converge, come online, and go without a trace. */
export const calmDown = async (actor: Actor, plan: Plan): Promise<void> => {
  const { calm } = plan;
  actor.note('calm: the host behaves');
  for (const armed of actor.armed) disarm(armed);
  const quietAt = Date.now() + LONGEST_DELAY_MS;
  await actor.backgroundDone();
  for (const subject of actor.subjects) await excuse(actor, subject);
  await reconcileWholly(actor);
  for (const subject of actor.subjects) await checkAsExpected(actor, subject);
  await Promise.all(actor.living.map((subject) => mustComeOnline(actor, subject)));
  await Promise.all(
    actor.living.map(async (subject, index) => {
      const fate = calm[index % calm.length] ?? 'keep';
      if (fate === 'keep') return;
      if (fate === 'power-cut') return mustBeRepaired(actor, subject);
      const job = await actor.finish(fate, subject);
      if (job?.status !== 'succeeded') actor.violation(`${fate} of ${subject.letter} in the calm: ${job?.status}`);
      await checkAsExpected(actor, subject);
    }),
  );
  await Promise.all(actor.living.map((subject) => actor.finish('delete', subject)));
  // What the host was slow about has happened by then.
  if (plannedFaults(plan).some(({ mode }) => mode === 'delay')) await sleep(Math.max(0, quietAt - Date.now()));
  for (const subject of actor.subjects) await checkGone(actor, subject);
  await actor.checkRows();
};

/** Waits for the end of all jobs of an agent; each must have ended as it may. */
const excuse = async (actor: Actor, subject: Subject): Promise<void> => {
  for (const job of await actor.ended(subject)) {
    const { kind, status, error } = job;
    actor.note(`${subject.letter} ${job.id} ${kind}: ${status}${error ? ` ${error.code}` : ''}`);
    const excuses = { capacity: subject.capacityRefused, powerCut: subject.powerCuts.length > 0 };
    const why = unexcused(job, excuses);
    if (why !== undefined) actor.violation(`${kind} of ${subject.letter} (${job.id}) ${why}`);
  }
};

/** As if ten minutes had passed: the next pass compares the whole list. */
const reconcileWholly = async (actor: Actor): Promise<void> => {
  for (let tries = 1; ; tries++)
    try {
      await actor.world.stack.db('host_watermarks').update({ sweptAt: null });
      return await actor.world.reconcile();
    } catch (error) {
      if (tries === RECONCILE_TRIES) return actor.violation(`the reconciler fails: ${String(error)}`); // other seeds' faults pass
    }
};

const checkAsExpected = async (actor: Actor, subject: Subject): Promise<void> => {
  const { letter, id, powerCuts } = subject;
  const expected = expectedOf({ jobs: await actor.ended(subject), powerCuts });
  const reply = await actor.caller.call('agents.get', { id });
  const status = reply.status === 404 ? 'gone' : (reply.body.status as (typeof expected.status)[number]);
  actor.note(`${letter} is ${status}, expected ${expected.status.join(' or ')}`);
  if (!expected.status.includes(status))
    actor.violation(`${letter} is ${status}, not ${expected.status.join(' or ')}: ${JSON.stringify(reply.body)}`);
  const hasError = reply.status === 200 && reply.body.lastError !== null;
  if ((status === 'error' && !hasError) || (status === 'online' && hasError))
    actor.violation(`${letter} is ${status} with the error ${JSON.stringify(reply.body.lastError)}`);
  const { host } = actor.world.stack;
  const machines = host.machinesOf(id);
  const running = machines.filter(({ state }) => state === 'started' || state === 'starting').length;
  const wanted = expected.running === 'as status' ? Number(status === 'online') : expected.running;
  if (running !== wanted) {
    const seen = machines.map((machine) => `${machine.id} ${machine.state}`).join(', ');
    actor.violation(`${letter} is ${status} and ${running} machines run, not ${wanted} (${seen})`);
  }
  if (machines.length > 1) actor.violation(`${letter} has ${machines.length} machines`);
};

const mustComeOnline = async (actor: Actor, subject: Subject): Promise<void> => {
  const status = await bringOnline(actor, subject);
  const { host } = actor.world.stack;
  const agent = await actor.caller.agent(subject.id);
  if (status !== 'online') actor.violation(`${subject.letter} does not come online: ${JSON.stringify(agent)}`);
  const machines = host.machinesOf(subject.id);
  const seen = machines.map(({ id, state }) => `${id} ${state}`).join(', ');
  if (machines.length !== 1 || machines[0]?.id !== agent.hostMachineId || machines[0].state !== 'started')
    actor.violation(`${subject.letter} is online with ${agent.hostMachineId}, the host has ${seen}`);
  const volumes = host.volumes(agent.hostAppName ?? '').map((volume) => String(volume['id']));
  if (volumes.length !== 1 || volumes[0] !== agent.hostVolumeId)
    actor.violation(
      `duplicate: ${subject.letter} has the volume ${agent.hostVolumeId}, the host ${volumes.join(', ')}`,
    );
  await checkAsExpected(actor, subject);
};

/** The reconciler notices a machine that stopped by itself, and a start leads out. */
const mustBeRepaired = async (actor: Actor, subject: Subject): Promise<void> => {
  await actor.act('power-cut', subject);
  await reconcileWholly(actor);
  const { status } = await actor.caller.agent(subject.id);
  if (status !== 'error') actor.violation(`${subject.letter} is ${status} though its machine lost power`);
  await mustComeOnline(actor, subject);
};

const checkGone = async (actor: Actor, subject: Subject): Promise<void> => {
  const { letter, id } = subject;
  const { world } = actor;
  const jobs = await actor.ended(subject);
  const { status } = await actor.caller.call('agents.get', { id });
  if (status !== 404) actor.violation(`${letter} is deleted and answers ${status}`);
  const last = jobs.findLast(({ kind }) => kind === 'agent.delete');
  if (last?.status !== 'succeeded') actor.violation(`${letter} was not deleted: ${JSON.stringify(last)}`);
  for (const what of [...(await livingTokens(world, id)), ...(await livingRows(world, id))])
    actor.violation(`${letter} is gone: ${what}`);
  const deletedAt = last?.finishedAt ? Date.parse(last.finishedAt) : undefined;
  for (const what of judge(world.stack.host.effects(), { agentId: id, deletedAt, volumeTwice: subject.volumeTwice }))
    actor.violation(what);
};
