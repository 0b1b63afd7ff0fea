import test from 'ava';
import { withStack } from '../support/a-stack.js';
import { appNameOf, assertNothingLeft, hostSideOf } from '../support/host-side.js';
import { until } from '../support/until.js';

const stack = withStack(test);

/** Longer than a cancel takes to arrive and to be undone. */
const SLOW_MS = 6_000;

test('an agent deleted while the host is slow about its app: the app does not come after the deletion', async (t) => {
  t.timeout(60_000);
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const match = { method: 'POST', path: '//v1/apps$/', body: appNameOf(id) };
  const slow = stack().host.fault({ match, mode: 'delay', delayMs: SLOW_MS, times: 1 });
  await ada.call('agents.provision', { id });
  await until('the host was asked', () => slow.injected() > 0);
  const { body } = await ada.call('agents.delete', { id });
  const job = await ada.finished(body.job);
  t.is(job.status, 'succeeded', JSON.stringify(job));
  await until('the host got to it', () => hostSideOf(stack(), id).count('app.create') > 0);
  assertNothingLeft(t, stack(), id, 'deleted');
});

test('a start canceled while the host is slow about it: the machine does not start after the cancel', async (t) => {
  t.timeout(60_000);
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, { headers: { prefer: 'wait=60' } });
  const match = { method: 'POST', path: `/${appNameOf(id)}/machines/[^/]+/start$/` };
  const slow = stack().host.fault({ match, mode: 'delay', delayMs: SLOW_MS, times: 1 });
  const { body } = await ada.call('agents.start', { id });
  await until('the host was asked', () => slow.injected() > 0);
  await ada.call('jobs.cancel', { id: body.job.id });
  t.is((await ada.finished(body.job)).status, 'canceled');
  await until('the host got to it', () => hostSideOf(stack(), id).count('machine.start') > 0);
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
  t.is((await ada.agent(id)).status, 'offline');
});
