import type { ExecutionContext } from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import type { Stack } from './a-stack.js';
import type { Storm, ToldAgent } from './a-storm.js';
import { assertNothingLeft, hostSideOf } from './host-side.js';
import { until } from './until.js';

/** What the host has is what the agent says it has, and no more than one of each. */
const assertHostAgrees = (t: ExecutionContext, stack: Stack, agent: Agent): void => {
  const { effects, machines, volumes } = hostSideOf(stack, agent.id);
  const seen = JSON.stringify({ agent, effects });
  t.deepEqual(
    machines.map(({ id }) => id),
    agent.hostMachineId === null ? [] : [agent.hostMachineId],
    seen,
  );
  t.deepEqual(
    volumes.map((volume) => volume['id']),
    agent.hostVolumeId === null ? [] : [agent.hostVolumeId],
    seen,
  );
  const started = stack.host.machinesOf(agent.id, { state: 'started' }).length;
  t.is(started, agent.status === 'online' ? 1 : 0, seen);
};

const assertAgentKept = async (t: ExecutionContext, stack: Stack, told: ToldAgent): Promise<void> => {
  const reply = await told.user.call('agents.get', { id: told.id });
  if (told.isDeleted) t.is(reply.status, 404, `${told.id} was deleted`);
  if (reply.status === 404) {
    t.true(told.mayBeDeleted, `${told.id} is gone`);
    return assertNothingLeft(t, stack, told.id, told.id);
  }
  t.is(reply.status, 200);
  const agent = reply.body as Agent;
  const persona = Number(agent.persona);
  t.true(persona >= told.persona && persona <= told.tried, `${told.persona} acknowledged, ${persona} there`);
  t.is(agent.activeJobId, null, JSON.stringify(agent));
  t.is<string, string>(agent.status, agent.desiredStatus, JSON.stringify(agent));
  assertHostAgrees(t, stack, agent);
};

/** Nothing that was acknowledged is lost, every job has ended well or made way, and the host has what the rows say. */
export const assertConverged = async (
  t: ExecutionContext,
  stack: Stack,
  storm: Storm,
  withinSeconds: number,
): Promise<void> => {
  const ends = new Map<string, number>();
  const ended = await Promise.all(storm.jobs.map(({ user, id }) => user.finished({ id }, withinSeconds)));
  for (const job of ended) {
    ends.set(job.status, (ends.get(job.status) ?? 0) + 1);
    if (job.status === 'canceled') t.is(job.error?.code, 'superseded', JSON.stringify(job));
    else t.is(job.status, 'succeeded', JSON.stringify(job));
  }
  // Calls without an answer may have been accepted too: those jobs end as well.
  const unfinished = () => stack.db('jobs').whereNull('finishedAt').pluck('id');
  await until('every job has ended', async () => (await unfinished()).length === 0, withinSeconds);
  for (const told of storm.agents) await assertAgentKept(t, stack, told);
  const show = (counts: Map<unknown, number>) =>
    [...counts].map(([what, count]) => `${count} ${String(what)}`).join(', ');
  t.log(`answers: ${show(storm.answers)}; the slowest after ${storm.slowestMs} ms`);
  t.log(`${storm.agents.length} agents, ${storm.jobs.length} jobs acknowledged: ${show(ends)}`);
};
