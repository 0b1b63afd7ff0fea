import test from 'ava';
import { freePort } from '../../local/process/ports.js';
import { newId } from '../../src/models/new-id.js';
import { aSweep } from '../support/a-pass.js';
import { startProcess } from '../support/a-process.js';
import { startStack } from '../support/a-stack.js';
import { appNameOf, volumeNameOf } from '../support/host-side.js';
import type { Stack } from '../support/a-stack.js';

const as = (stack: Stack) => ({
  authorization: `Bearer ${stack.env['HOST_API_TOKEN']}`,
  'content-type': 'application/json',
});

/** Apps with a machine whose agent the database never knew. Without a volume they would be reaped, with one a person must look. */
const orphans = async (stack: Stack, count: number, hasVolume = false): Promise<void> => {
  for (let i = 0; i < count; i++) {
    const id = newId('agent');
    const name = appNameOf(id);
    const post = (path: string, body: unknown) =>
      fetch(`${stack.host.url}/v1${path}`, { method: 'POST', headers: as(stack), body: JSON.stringify(body) });
    await post('/apps', { name, org_slug: 'acme' });
    if (hasVolume) await post(`/apps/${name}/volumes`, { name: volumeNameOf(id), region: 'ams', size_gb: 1 });
    const metadata = { acp_installation: 'test', acp_agent_id: id };
    await post(`/apps/${name}/machines`, { name, config: { image: 'x', metadata }, skip_launch: true });
  }
};

const deletions = (stack: Stack): number => stack.host.effects().filter(({ action }) => action === 'app.delete').length;

test('at most five are reaped in a run, and the worker’s metrics tell how many', async (t) => {
  t.timeout(60_000);
  const stack = await startStack({ workers: ['control'], env: { ORPHAN_GRACE_SECONDS: '0' } });
  t.teardown(() => stack.close());
  const port = await freePort();
  const worker = await startProcess('workers/host-background', { ...stack.env, METRICS_PORT: String(port) });
  t.teardown(() => worker.kill());
  await orphans(stack, 7);
  const reaped: (number | undefined)[] = [];
  for (let sweeps = 0; sweeps < 4; sweeps++) reaped.push((await aSweep(stack)).reaping?.reaped);
  t.deepEqual(reaped, [0, 5, 2, 0], worker.output());
  t.is(deletions(stack), 7);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  t.regex(metrics, /acp_host_orphans_reaped_total(\{[^}]*\})? 7\b/, metrics);
});

test('more orphans than deletions can explain: none is reaped, and the list says why', async (t) => {
  t.timeout(60_000);
  const stack = await startStack({ api: false, env: { ORPHAN_GRACE_SECONDS: '0' } });
  t.teardown(() => stack.close());
  const port = await freePort();
  const api = await startProcess('src/server', { ...stack.env, METRICS_PORT: String(port) });
  t.teardown(() => api.kill());
  await orphans(stack, 11);
  for (let sweeps = 0; sweeps < 3; sweeps++)
    t.deepEqual((await aSweep(stack)).reaping, { known: 11, heldBack: 11, reaped: 0 });
  t.is(deletions(stack), 0);
  const { body } = await (await stack.user(undefined, { role: 'operator' })).call('operator.attention.list');
  t.deepEqual(
    [...new Set(body.orphans.map((orphan: { heldBack: { code: string } }) => orphan.heldBack.code))],
    ['too_many'],
  );
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  t.regex(metrics, /^acp_host_orphans 11$/m);
});

test('orphans that wait for a person do not keep others from being reaped', async (t) => {
  t.timeout(60_000);
  const stack = await startStack({ env: { ORPHAN_GRACE_SECONDS: '0' } });
  t.teardown(() => stack.close());
  await orphans(stack, 8, true);
  await orphans(stack, 2);
  t.deepEqual((await aSweep(stack)).reaping, { known: 10, heldBack: 8, reaped: 0 }, 'seen once');
  t.deepEqual((await aSweep(stack)).reaping, { known: 10, heldBack: 8, reaped: 2 });
  t.is(deletions(stack), 2);
  await orphans(stack, 11);
  await aSweep(stack);
  t.deepEqual((await aSweep(stack)).reaping, { known: 19, heldBack: 19, reaped: 0 }, 'eleven others are too many');
  const held = await stack
    .db('host_orphans')
    .whereNull('reapedAt')
    .groupBy('heldBack')
    .select('heldBack')
    .count('* as n');
  t.deepEqual(Object.fromEntries(held.map(({ heldBack, n }) => [heldBack, Number(n)])), {
    no_record: 8,
    too_many: 11,
  });
});

test('a database that has lost many agents is no witness for those without data either', async (t) => {
  t.timeout(60_000);
  const stack = await startStack({ env: { ORPHAN_GRACE_SECONDS: '0' } });
  t.teardown(() => stack.close());
  await orphans(stack, 11, true);
  await orphans(stack, 2);
  for (let sweeps = 0; sweeps < 3; sweeps++)
    t.deepEqual((await aSweep(stack)).reaping, { known: 13, heldBack: 13, reaped: 0 });
  t.is(deletions(stack), 0);
});

test('with reaping switched off orphans are shown and left', async (t) => {
  t.timeout(60_000);
  const stack = await startStack({ env: { ORPHAN_GRACE_SECONDS: '0', ORPHAN_REAPING: 'report' } });
  t.teardown(() => stack.close());
  await orphans(stack, 1);
  for (let sweeps = 0; sweeps < 3; sweeps++) t.is((await aSweep(stack)).reaping?.reaped, 0);
  t.is(deletions(stack), 0);
  const { body } = await (await stack.user(undefined, { role: 'operator' })).call('operator.attention.list');
  t.like(body.orphans, [{ heldBack: { code: 'reporting_only' }, reapAt: null }]);
});
