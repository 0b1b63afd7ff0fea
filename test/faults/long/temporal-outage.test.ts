import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { Job } from '../../../src/contract/shapes/job.js';
import type { ACaller } from '../../support/a-caller.js';
import { startProcess } from '../../support/a-process.js';
import { startStack } from '../../support/a-stack.js';
import { aTcpProxy } from '../../support/a-tcp-proxy.js';
import { assertNothingLeft, assertOneOfEach, hostSideOf } from '../../support/host-side.js';
import { part } from './share.js';

const OUTAGE_MS = part(30_000, 12_000);
const AGENTS_A_USER = 5;
/** What the calls ask for, of how many agents each; 200 in all. */
const MIX = { provision: part(80, 10), start: part(30, 5), stop: part(30, 5), delete: part(60, 10) } as const;
type Verb = keyof typeof MIX;
/** Longer than a start's own deadline of 500 ms, on a busy machine; far from anything that hangs. */
const PROMPT_MS = 5_000;

interface Asked {
  user: ACaller;
  id: string;
  verb: Verb;
}

test('while Temporal is away, lifecycle calls go on arriving: none acknowledged is lost or done twice', async (t) => {
  t.timeout(900_000);
  const temporal = await aTcpProxy(process.env['TEST_TEMPORAL_ADDRESS'] ?? '');
  t.teardown(() => temporal.close());
  const stack = await startStack({ api: false, workers: false, env: { TEMPORAL_ADDRESS: temporal.address } });
  t.teardown(() => stack.close());
  const programs = ['src/server', 'workers/control', 'workers/host'] as const;
  const processes = await Promise.all(programs.map((program) => startProcess(program, stack.env)));
  t.teardown(() => Promise.all(processes.map((one) => one.kill())));

  // Every second deletion is of an agent that never had a machine; what is to be started was stopped before.
  const total = Object.values(MIX).reduce((sum, count) => sum + count, 0);
  const verbs = (Object.keys(MIX) as Verb[]).flatMap((verb) => Array.from({ length: MIX[verb] }, () => verb));
  const users = await Promise.all(Array.from({ length: Math.ceil(total / AGENTS_A_USER) }, () => stack.user()));
  const asked = await Promise.all(
    verbs.map(async (verb, index): Promise<Asked> => {
      const user = users[index % users.length] as ACaller; // the index lies within
      const isOnline = verb === 'stop' || verb === 'start' || (verb === 'delete' && index % 2 === 0);
      const { id } = await (isOnline ? user.anOnlineAgent() : user.anAgent());
      if (verb === 'start') await user.call('agents.stop', { id }, { headers: { prefer: 'wait=60' } });
      return { user, id, verb };
    }),
  );
  const before = new Map(asked.map(({ id }) => [id, hostSideOf(stack, id).effects]));

  await temporal.refuse();
  const began = Date.now();
  let slowestMs = 0;
  const shuffled = asked.toSorted((a, b) => a.id.slice(-6).localeCompare(b.id.slice(-6)));
  const accepted = await Promise.all(
    shuffled.map(async (one, index) => {
      await sleep((index * OUTAGE_MS * 0.95) / total);
      const at = Date.now();
      const { status, body } = await one.user.call(`agents.${one.verb}`, { id: one.id });
      slowestMs = Math.max(slowestMs, Date.now() - at);
      t.is(status, 202, `${one.verb}: ${JSON.stringify(body)}`);
      return { ...one, job: body.job as Job };
    }),
  );
  t.true(slowestMs < PROMPT_MS, `${slowestMs} ms`);
  await sleep(Math.max(0, began + OUTAGE_MS - Date.now()));
  t.is(new Set(accepted.map(({ job }) => job.id)).size, total, 'a job for each call');
  t.deepEqual(
    asked.filter(({ id }) => hostSideOf(stack, id).effects.length !== before.get(id)?.length),
    [],
    'nothing happened meanwhile',
  );

  await temporal.restore();
  const back = Date.now();
  const doneOnce = async ({ user, id, verb, job }: (typeof accepted)[number]) => {
    const ended = await user.finished(job, 300);
    const seen = `${verb}: ${JSON.stringify(ended)}`;
    t.is(ended.status, 'succeeded', seen);
    const effects = hostSideOf(stack, id).effects.slice(before.get(id)?.length);
    const count = (action: string) => effects.filter((effect) => effect.startsWith(`${action} `)).length;
    const what = `${seen} ${effects.join(', ')}`;
    if (verb === 'delete') return assertNothingLeft(t, stack, id, what);
    assertOneOfEach(t, stack, await user.agent(id), what);
    t.is(stack.host.machinesOf(id, { state: 'started' }).length, verb === 'stop' ? 0 : 1, what);
    t.is(count('secrets.set'), verb === 'stop' ? 0 : 1, what);
    t.is(count('machine.stop'), verb === 'stop' ? 1 : 0, what);
    t.is(count('machine.update'), verb === 'start' ? 1 : 0, what);
  };
  await Promise.all(accepted.map(doneOnce));
  const doneMs = Date.now() - back;
  t.deepEqual(await stack.db('jobs').whereNull('finishedAt').pluck('id'), []);
  for (const one of processes) t.true(one.isRunning(), one.output());
  t.log(`${total} calls in an outage of ${OUTAGE_MS} ms: all accepted, the slowest answer after ${slowestMs} ms`);
  t.log(`all done, each once, ${doneMs} ms after Temporal was back`);
});
