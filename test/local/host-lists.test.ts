import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { aConfig, aHost, aMachine, ORG, type HostAtHand } from './a-host.js';

async function threeMachines({ api, controlPlane }: HostAtHand): Promise<void> {
  await api('POST', '/v1/apps', { name: 'one', org_slug: ORG });
  for (const name of ['a', 'b', 'c']) {
    const config = aConfig(controlPlane, { metadata: { name, kind: 'agent' } });
    await api('POST', '/v1/apps/one/machines', { name, skip_launch: true, config });
  }
}

const names = (machines: { name: string }[]): string[] => machines.map(({ name }) => name);

test('an app list is filtered by every metadata key and paged by a header cursor', async (t) => {
  const at = await aHost(t);
  await threeMachines(at);
  const path = '/v1/apps/one/machines';
  t.deepEqual(names((await at.api('GET', `${path}?metadata.kind=agent`)).body), ['a', 'b', 'c']);
  t.deepEqual(names((await at.api('GET', `${path}?metadata.kind=agent&metadata.name=b`)).body), ['b']);
  t.deepEqual((await at.api('GET', `${path}?metadata.kind=other`)).body, []);
  t.is((await at.api('GET', `${path}?cursor=x`)).status, 400);
  t.is((await at.api('GET', `${path}?cursor=x&limit=2`)).status, 400);

  const first = await at.api('GET', `${path}?limit=2&metadata.name=c`);
  t.deepEqual(first.body, [], 'a page may be empty while more remain');
  const cursor = first.headers.get('fly-next-cursor');
  t.truthy(cursor);
  const second = await at.api('GET', `${path}?limit=2&metadata.name=c&cursor=${cursor}`);
  t.deepEqual(names(second.body), ['c']);
  t.is(second.headers.get('fly-next-cursor'), null);
});

test('an organisation list is paged in its body, knows what changed since, and names what it could not see', async (t) => {
  const at = await aHost(t);
  await threeMachines(at);
  const first = (await at.api('GET', `/v1/orgs/${ORG}/machines?limit=2`)).body;
  t.deepEqual(names(first.machines), ['a', 'b']);
  t.false('checks' in first.machines[0] || 'instance_id' in first.machines[0] || 'host_status' in first.machines[0]);
  const second = (await at.api('GET', `/v1/orgs/${ORG}/machines?limit=2&cursor=${first.next_cursor}`)).body;
  t.deepEqual(names(second.machines), ['c']);
  t.is(second.next_cursor, null);

  const since = encodeURIComponent(second.last_updated_at);
  t.deepEqual((await at.api('GET', `/v1/orgs/${ORG}/machines?updated_after=${since}`)).body.machines, []);
  const { body: changed } = await at.api('GET', '/v1/apps/one/machines?metadata.name=b');
  await at.api('PATCH', `/v1/apps/one/machines/${changed[0].id}/metadata`, {
    metadata: { extra: 'x' },
  });
  const { body: later } = await at.api('GET', `/v1/orgs/${ORG}/machines?updated_after=${since}`);
  t.deepEqual(names(later.machines), ['b']);

  await at.api('POST', '/_/knobs', { errorRegions: ['ams'] });
  const { body: partial } = await at.api('GET', `/v1/orgs/${ORG}/machines`);
  t.deepEqual([partial.machines, partial.error_regions], [[], ['ams']]);
  t.is((await at.api('GET', '/v1/orgs/other/machines')).status, 404);
  t.is((await at.api('GET', `/v1/orgs/${ORG}/volumes`)).body.volumes.length, 0);
});

test('metadata changes without a new version; a stale machine_version is 412', async (t) => {
  const at = await aHost(t);
  await threeMachines(at);
  const [machine] = (await at.api('GET', '/v1/apps/one/machines')).body;
  const path = `/v1/apps/one/machines/${machine.id}`;
  const changed = await at.api('PATCH', `${path}/metadata`, {
    metadata: { name: null, extra: 'x' },
    machine_version: machine.version,
  });
  t.is(changed.status, 204);
  t.deepEqual((await at.api('GET', `${path}/metadata`)).body, { kind: 'agent', extra: 'x' });
  t.is((await at.api('GET', path)).body.version, machine.version);
  t.is((await at.api('PATCH', `${path}/metadata`, { metadata: {}, machine_version: 'other' })).status, 412);
});

test('whoever holds the lease may act, others are told 409 until it ends', async (t) => {
  const at = await aHost(t);
  await threeMachines(at);
  const [machine] = (await at.api('GET', '/v1/apps/one/machines')).body;
  const path = `/v1/apps/one/machines/${machine.id}`;
  t.is((await at.api('GET', `${path}/lease`)).status, 404);
  const { body: lease } = await at.api('POST', `${path}/lease`, { ttl: 30, description: 'update' });
  t.is(lease.status, 'success');
  t.like(lease.data, { description: 'update', version: machine.version });
  const mine = { 'fly-machine-lease-nonce': lease.data.nonce };
  t.is((await at.api('POST', `${path}/lease`, { ttl: 30 })).status, 409);
  t.is((await at.api('POST', `${path}/stop`)).status, 409);
  t.is((await at.api('GET', path)).status, 200);
  t.is((await at.api('POST', `${path}/lease`, { ttl: 30 }, mine)).body.data.nonce, lease.data.nonce);
  t.is((await at.api('POST', `${path}/stop`, {}, mine)).status, 200);
  t.is((await at.api('DELETE', `${path}/lease`)).status, 409);
  t.deepEqual((await at.api('DELETE', `${path}/lease`, undefined, mine)).body, {
    status: 'success',
    data: { ok: true },
  });
  t.is((await at.api('DELETE', `${path}?force=true`)).status, 200);
});

test('a command runs in the machine; failing is an outcome, taking too long is a 408', async (t) => {
  const at = await aHost(t);
  const { path } = await aMachine(at);
  const exec = (body: unknown) => at.api('POST', `${path}/exec`, body);
  t.deepEqual((await exec({ command: ['sh', '-c', 'cat; echo no >&2; exit 3'], stdin: 'in' })).body, {
    stdout: 'in',
    stderr: 'no\n',
    exit_code: 3,
    exit_signal: 0,
  });
  t.is((await exec({ command: ['/no/such/command'] })).body.exit_code, 127);
  t.is((await exec({ command: ['sh', '-c', 'sleep 30'], timeout: 1 })).status, 408);
  t.is((await exec({ command: 'ls' })).status, 400);
  await at.api('POST', `${path}/stop`);
  t.is((await exec({ command: ['ls'] })).status, 412);
  t.is(at.host.effects().filter(({ action }) => action === 'exec').length, 3);
});

test('a volume made from a snapshot or as a fork holds what the first one held', async (t) => {
  const at = await aHost(t);
  await at.api('POST', '/v1/apps', { name: 'one', org_slug: ORG });
  const { body: volume } = await at.api('POST', '/v1/apps/one/volumes', {
    name: 'data',
    region: 'ams',
  });
  const file = join(at.dir, 'volumes', volume.id, 'file');
  await writeFile(file, 'old');
  const { body: snapshot } = await at.api('POST', `/v1/apps/one/volumes/${volume.id}/snapshots`);
  t.like((await at.api('GET', `/v1/apps/one/volumes/${volume.id}/snapshots`)).body, [{ id: snapshot.id }]);
  await writeFile(file, 'new');
  const made = async (from: Record<string, string>): Promise<string> => {
    const { body } = await at.api('POST', '/v1/apps/one/volumes', {
      name: 'data',
      region: 'ams',
      ...from,
    });
    return readFile(join(at.dir, 'volumes', body.id, 'file'), 'utf8');
  };
  t.is(await made({ snapshot_id: snapshot.id }), 'old');
  t.is(await made({ source_volume_id: volume.id }), 'new');
  t.is(
    (
      await at.api('POST', '/v1/apps/one/volumes', {
        name: 'data',
        region: 'ams',
        snapshot_id: 'vs_none',
      })
    ).status,
    404,
  );
});

test('a full region, an unreachable host and a hurried caller are refused as the real host refuses them', async (t) => {
  const at = await aHost(t);
  const { path } = await aMachine(at);
  at.host.knobs.fullRegions = ['fra'];
  const volume = await at.api('POST', '/v1/apps/app-one/volumes', { name: 'data', region: 'fra' });
  t.deepEqual([volume.status, volume.body.status], [422, 'volume_placement_capacity']);
  const machine = await at.api('POST', '/v1/apps/app-one/machines', {
    region: 'fra',
    config: { image: 'x' },
  });
  t.is(machine.body.status, 'insufficient_capacity');

  await at.api('POST', '/_/machines/agt_one/unreachable', { unreachable: true });
  t.like((await at.api('GET', path)).body, { host_status: 'unreachable', config: null });
  t.is((await at.api('POST', `${path}/stop`)).status, 503);
  t.is((await at.api('GET', '/ingress/app-one/healthz')).status, 502);
  await at.api('POST', '/_/machines/agt_one/unreachable', { unreachable: false });
  t.is((await at.api('GET', path)).body.host_status, 'ok');

  at.host.knobs.rateLimits = true;
  const burst = await Promise.all(Array.from({ length: 5 }, () => at.api('POST', `${path}/start`)));
  const limited = burst.filter(({ status }) => status === 429);
  t.is(limited.length, 2);
  t.is(limited[0]?.headers.get('retry-after'), '1');
});
