import test from 'ava';
import type { ACaller } from '../support/a-caller.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft, assertOneOfEach } from '../support/host-side.js';
import { until } from '../support/until.js';

// A step is tried for 14 s instead of 8 min, an undoing for 11 s instead of 6 min.
const stack = withStack(test, { env: { JOB_PATIENCE: '0.03' } });
const wait = { headers: { prefer: 'wait=60' } };

/** A start while the host cannot be reached; resolves when its step was given up and the undoing has begun. */
const vainStart = async (ada: ACaller, id: string): Promise<{ id: string }> => {
  stack().host.fault({ match: { path: `/apps/${appNameOf(id)}` }, mode: 'down' });
  const { body } = await ada.call('agents.start', { id });
  const isUndoing = async () => (await ada.call('jobs.get', { id: body.job.id })).body.step === 'stop the machine';
  await until('the step is given up', isUndoing, 40);
  return body.job as { id: string };
};

test.serial('a host out of reach for longer than a step is tried: host_unreachable, and a start repairs', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  const vain = await vainStart(ada, id);
  stack().host.clearFaults();
  const job = await ada.finished(vain);
  t.like(job, { status: 'failed', error: { code: 'host_unreachable', needsOperator: false, retryable: true } });
  t.true((job.steps[0]?.attempts ?? 0) > 3, JSON.stringify(job.steps[0]));
  t.log(`${job.steps[0]?.attempts} attempts in 14 s`);
  t.like(await ada.agent(id), { status: 'error', activeJobId: null, lastError: { code: 'host_unreachable' } });
  const { body } = await ada.call('agents.start', { id }, wait);
  t.like(body, { ok: true, agent: { status: 'online', lastError: null } }, JSON.stringify(body.job));
  assertOneOfEach(t, stack(), await ada.agent(id), 'repaired');
});

test.serial(
  'and for longer than the undoing is tried: it is an operator’s too, and a delete leaves nothing',
  async (t) => {
    t.timeout(120_000);
    const ada = await stack().user();
    const { id } = await ada.anOnlineAgent();
    await ada.call('agents.stop', { id }, wait);
    const job = await ada.finished(await vainStart(ada, id), 40);
    t.like(job.error, { code: 'host_unreachable', needsOperator: true });
    t.is(job.steps.find(({ name }) => name === 'stop the machine')?.status, 'failed');
    t.is(
      job.steps.find(({ name }) => name === 'wait until it stands still'),
      undefined,
      'what stands on it is not tried',
    );
    stack().host.clearFaults();
    t.is((await ada.call('agents.delete', { id }, wait)).body.ok, true);
    assertNothingLeft(t, stack(), id, 'deleted');
  },
);
