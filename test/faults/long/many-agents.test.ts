import test from 'ava';
import type { Agent } from '../../../src/contract/shapes/agent.js';
import type { Job } from '../../../src/contract/shapes/job.js';
import { isErrorCode } from '../../../src/contract/errors.js';
import { startProcess } from '../../support/a-process.js';
import { startStack } from '../../support/a-stack.js';
import { assertOneOfEach } from '../../support/host-side.js';
import { childrenOf, peakMb, proportionalMb, residentMb } from '../../support/memory.js';
import { part } from './share.js';

const AGENTS = part(200, 40);
const AGENTS_A_USER = 5;
/** For all of them, on two slow cores that boot every machine too. */
const WITHIN_S = 600;
/** Of each process of ours, whatever the number of agents: what a small instance of a cloud has. */
const PEAK_MB = 400;

test(`agents provisioned at once all come online or end in a clear error, in bounded memory`, async (t) => {
  t.timeout(1_200_000);
  const stack = await startStack({ api: false, workers: false });
  t.teardown(() => stack.close());
  const programs = ['src/server', 'workers/control', 'workers/host'] as const;
  const ours = await Promise.all(
    programs.map(async (program) => ({ program, process: await startProcess(program, stack.env) })),
  );
  t.teardown(() => Promise.all(ours.map(({ process: one }) => one.kill())));
  const idle = ours.map(({ process: one }) => residentMb(one.pid));

  const agents = [];
  for (let made = 0; made < AGENTS; made += AGENTS_A_USER) {
    const user = await stack.user();
    for (let one = 0; one < AGENTS_A_USER; one++) agents.push({ user, id: (await user.anAgent()).id });
  }
  const began = Date.now();
  const accepted = await Promise.all(
    agents.map(async ({ user, id }) => {
      const { status, body } = await user.call('agents.provision', { id });
      t.is(status, 202, JSON.stringify(body));
      return { user, id, job: body.job as Job };
    }),
  );
  const acceptedMs = Date.now() - began;
  const seconds: number[] = [];
  const ends = new Map<string, number>();
  for (const { user, id, job } of accepted) {
    const ended = await user.finished(job, WITHIN_S);
    seconds.push((Date.parse(ended.finishedAt ?? '') - Date.parse(job.createdAt)) / 1_000);
    const agent: Agent = await user.agent(id);
    t.is(agent.activeJobId, null);
    if (ended.status === 'succeeded') {
      t.is(agent.status, 'online');
      assertOneOfEach(t, stack, agent, id);
    } else {
      t.is(agent.status, 'error', JSON.stringify(ended));
      t.true(isErrorCode(agent.lastError?.code), JSON.stringify(agent.lastError));
      t.not(agent.lastError?.code, 'internal');
    }
    const end = agent.lastError?.code ?? agent.status;
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  const tookMs = Date.now() - began;
  const unfinished = await stack.db('jobs').whereNull('finishedAt');
  t.deepEqual(unfinished, []);

  t.log(`${AGENTS} agents: ${[...ends].map(([end, count]) => `${count} ${end}`).join(', ')}`);
  t.log(`accepted in ${acceptedMs} ms, the last ended after ${(tookMs / 1_000).toFixed(1)} s`);
  const sorted = seconds.toSorted((a, b) => a - b);
  t.log(`a provision took ${sorted[AGENTS / 2]} s in the middle, ${sorted.at(-1)} s at most`);
  for (const [index, { program, process: one }] of ours.entries()) {
    const peak = peakMb(one.pid);
    t.log(`${program}: ${idle[index]?.toFixed(0)} MB before, ${peak.toFixed(0)} MB at most`);
    t.true(one.isRunning(), one.output());
    t.true(peak < PEAK_MB, `${program}: ${peak} MB`);
  }
  const machines = childrenOf(process.pid).filter((pid) => !ours.some(({ process: one }) => one.pid === pid));
  const machinesMb = machines.reduce((sum, pid) => sum + proportionalMb(pid), 0);
  t.log(
    `the stand-in with this test: ${peakMb(process.pid).toFixed(0)} MB at most; ${machines.length} machines: ${machinesMb.toFixed(0)} MB`,
  );
});
