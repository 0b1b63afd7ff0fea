import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { freePort } from '../../local/process/ports.js';
import type { Job } from '../../src/contract/shapes/job.js';
import { type AProcess, startProcess } from '../support/a-process.js';
import type { ACaller } from '../support/a-caller.js';
import { type Stack, startStack } from '../support/a-stack.js';
import { aTcpProxy } from '../support/a-tcp-proxy.js';
import { assertNothingLeft, assertOneOfEach } from '../support/host-side.js';
import { seeded } from '../support/seeded.js';
import { until } from '../support/until.js';

/** A stack without an API, whose API the test runs as processes. */
const aStack = async (t: ExecutionContext): Promise<Stack> => {
  t.timeout(180_000);
  const stack = await startStack({ api: false });
  t.teardown(() => stack.close());
  return stack;
};

const anApi = async (t: ExecutionContext, env: Record<string, string>): Promise<AProcess> => {
  const api = await startProcess('src/server', { ...env, LOG_LEVEL: 'info' });
  t.teardown(() => api.kill());
  return api;
};

/** The settings of an API for which Temporal is not there, whatever it tries. */
const withoutTemporal = async (t: ExecutionContext, stack: Stack): Promise<Record<string, string>> => {
  const proxy = await aTcpProxy(stack.env['TEMPORAL_ADDRESS'] ?? '');
  t.teardown(() => proxy.close());
  proxy.hush();
  return { ...stack.env, TEMPORAL_ADDRESS: proxy.address };
};

/** How often an API had to start the workflow of a job that another did not. */
const lateStarts = (api: AProcess): string[] =>
  api
    .output()
    .split('\n')
    .filter((line) => line.includes('job started late'))
    .map((line) => String((JSON.parse(line) as { jobId: unknown }).jobId));

const random = seeded();

for (const verb of ['provision', 'stop', 'start', 'delete'] as const)
  test(`the API killed at several moments of a ${verb}, the first right after the 202: the job ends once`, async (t) => {
    const stack = await aStack(t);
    const moments = [0, Math.floor(random.next() * 200), 200 + Math.floor(random.next() * 500)];
    t.log(`TEST_SEED=${random.seed}: killed after ${moments.join(', ')} ms`);
    let api = await anApi(t, stack.env);
    for (const ms of moments) {
      const ada = await stack.user();
      const { id } = verb === 'provision' ? await ada.anAgent() : await ada.anOnlineAgent();
      if (verb === 'start') await ada.call('agents.stop', { id }, { headers: { prefer: 'wait=60' } });
      const reply = await ada.call(`agents.${verb}`, { id });
      t.is(reply.status, 202);
      await sleep(ms);
      await api.kill();
      api = await anApi(t, stack.env);
      const job = await ada.finished(reply.body.job);
      t.is(job.status, 'succeeded', JSON.stringify(job));
      if (verb === 'delete') assertNothingLeft(t, stack, id, `killed after ${ms} ms`);
      else assertOneOfEach(t, stack, await ada.agent(id), `killed after ${ms} ms`);
    }
  });

test('the API killed between its commit and the start of the workflow: the next API starts it', async (t) => {
  const stack = await aStack(t);
  const api = await anApi(t, await withoutTemporal(t, stack));
  const ada = await stack.user();
  const { id } = await ada.anAgent();
  await stack.db.raw('select 1'); // connected, so that the next look takes no time
  const asked = ada.call('agents.provision', { id }).catch(() => undefined);
  const row = await until('the job is committed', () => stack.db<Job>('jobs').first());
  await api.kill();
  t.log((await asked) ? 'killed just after it had answered' : 'killed while it tried to start the workflow');
  const next = await anApi(t, stack.env);
  t.is((await ada.finished(row)).status, 'succeeded');
  t.deepEqual(lateStarts(next), [row.id]);
  assertOneOfEach(t, stack, await ada.agent(id), 'started by the next API');
});

/** Forty jobs that nobody has started: five provisions, and the deletion of agents that never had a machine. */
const aBacklog = async (t: ExecutionContext, stack: Stack) => {
  const accepted: { job: Job; ada: ACaller }[] = [];
  for (let users = 0; users < 8; users++) {
    const ada = await stack.user();
    for (let agents = 0; agents < 5; agents++) {
      const { id } = await ada.anAgent();
      const { status, body } = await ada.call(users === 0 ? 'agents.provision' : 'agents.delete', { id });
      t.is(status, 202);
      accepted.push({ job: body.job as Job, ada });
    }
  }
  return accepted;
};

test('two APIs dispatching one backlog start each workflow once, and each job ends once', async (t) => {
  const stack = await aStack(t);
  const first = await anApi(t, await withoutTemporal(t, stack));
  const accepted = await aBacklog(t, stack);
  await first.kill();
  const port = String(await freePort());
  const both = await Promise.all([anApi(t, stack.env), anApi(t, { ...stack.env, PORT: port })]);
  for (const { job, ada } of accepted) {
    t.is((await ada.finished(job)).status, 'succeeded');
    if (job.kind === 'agent.provision') assertOneOfEach(t, stack, await ada.agent(job.subject.id), job.id);
  }
  const shares = both.map(lateStarts);
  t.log(
    `${accepted.length} jobs, started by the one and the other: ${shares.map((share) => share.length).join(' and ')}`,
  );
  t.deepEqual(shares.flat().toSorted(), accepted.map(({ job }) => job.id).toSorted());
});
