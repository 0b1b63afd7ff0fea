import test from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import { startProcess } from '../support/a-process.js';
import { startStack, withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft } from '../support/host-side.js';
import { until } from '../support/until.js';

// A provision has 27 s instead of 15 min, a start 18 s instead of 10 min, a deletion waits 3.6 s instead of 2 min.
const patience = { JOB_PATIENCE: '0.03' };
const stack = withStack(test, { env: patience });
const wait = { headers: { prefer: 'wait=60' } };

/** The host takes ten seconds for each of these calls about the agent, once: none is too long, together they are. */
const slow = (agentId: string, ...paths: string[]): void => {
  for (const path of paths)
    stack().host.fault({
      match: { method: 'POST', path: `/${appNameOf(agentId)}/${path}/` },
      mode: 'delay',
      delayMs: 10_000,
      times: 1,
    });
};

const stepsOf = (job: Job): Record<string, string> =>
  Object.fromEntries(job.steps.map(({ name, status }) => [name, status]));

test('a provision past its deadline ends deadline_exceeded, is undone step by step, and a provision leads out', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  slow(id, 'volumes$', 'secrets$', 'machines$');
  const { body } = await ada.call('agents.provision', { id });
  const job = await ada.finished(body.job, 90);
  t.like(job, { status: 'failed', error: { code: 'deadline_exceeded', needsOperator: false, retryable: true } });
  t.like(stepsOf(job), {
    'create the volume': 'done',
    'hand over the credentials': 'done',
    // It is waited for, so that the undoing finds what it made.
    'create the machine': 'done',
    'wait until it is ready': 'skipped',
    'undo what was created': 'done',
    'wait until nothing runs': 'done',
  });
  const [finished, deadline] = [Date.parse(job.finishedAt ?? ''), Date.parse(job.deadlineAt ?? '')];
  t.true(finished >= deadline);
  t.log(`ended ${finished - deadline} ms after its deadline`);
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
  t.like(await ada.agent(id), {
    status: 'error',
    activeJobId: null,
    lastError: { code: 'deadline_exceeded', jobId: job.id },
  });
  const again = await ada.call('agents.provision', { id }, wait);
  t.like(again.body, { ok: true, agent: { status: 'online', lastError: null } }, JSON.stringify(again.body.job));
  t.is(stack().host.machinesOf(id).length, 1);
});

test('a start past its deadline leaves the machine off, and a start leads out', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  slow(id, 'secrets$', 'machines/[^/]+$');
  const { body } = await ada.call('agents.start', { id });
  const job = await ada.finished(body.job, 90);
  t.like(job.error, { code: 'deadline_exceeded', needsOperator: false });
  t.like(stepsOf(job), {
    'configure the machine': 'failed',
    'stop the machine': 'done',
    'wait until it stands still': 'done',
  });
  t.like(await ada.agent(id), { status: 'error', lastError: { code: 'deadline_exceeded' } });
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
  t.like((await ada.call('agents.start', { id }, wait)).body, { ok: true, agent: { status: 'online' } });
});

test('a deletion takes the agent over from a provision whose worker is gone, which then changes nothing', async (t) => {
  t.timeout(120_000);
  const lonely = await startStack({ workers: ['control'], env: patience });
  t.teardown(() => lonely.close());
  const ada = await lonely.user();
  const worker = await startProcess('workers/host', lonely.env);
  t.teardown(() => worker.kill());
  const { id } = await ada.anAgent();
  const path = `/${appNameOf(id)}/volumes$/`;
  lonely.host.fault({ match: { method: 'POST', path }, mode: 'timeout-after', times: 1 });
  const provision = (await ada.call('agents.provision', { id })).body.job as Job;
  await until('the host has made the volume', () => lonely.host.volumes(appNameOf(id)).length === 1);
  await worker.kill();
  const deletion = (await ada.call('agents.delete', { id })).body.job as Job;
  const began = Date.now();
  const holder = async () => (await lonely.db('agents').where({ id }).first()).holderJobId as string;
  await until('the deletion holds the agent', async () => (await holder()) === deletion.id, 20);
  const waited = Date.now() - began;
  t.log(`took over after ${waited} ms`);
  t.true(waited >= 3_000, 'not before its patience ended');
  t.is((await ada.call('jobs.get', { id: provision.id })).body.finishedAt, null, 'the other has not ended');
  const another = await startProcess('workers/host', lonely.env);
  t.teardown(() => another.kill());
  t.is((await ada.finished(deletion)).status, 'succeeded');
  const undone = await ada.finished(provision);
  t.is(undone.status, 'canceled', JSON.stringify(undone));
  assertNothingLeft(t, lonely, id, 'deleted');
  t.is((await ada.call('agents.get', { id })).status, 404);
});
