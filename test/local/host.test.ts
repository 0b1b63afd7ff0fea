import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { aConfig, aHost, aMachine, apiOf, ORG, until } from './a-host.js';

test('a machine created for an app comes up as a process that answers behind the ingress', async (t) => {
  const at = await aHost(t);
  const { path, id } = await aMachine(at);
  const { body } = await at.api('GET', path);
  t.like(body, { id, state: 'started', region: 'ams', host_status: 'ok' });
  t.is(body.instance_id, body.version);
  const ready = await until(
    () => at.api('GET', '/ingress/app-one/readyz'),
    ({ status }) => status === 200,
  );
  t.deepEqual(ready.body, { ready: true, runtimeVersion: '1.0.0' });
  t.like(at.controlPlane.seen[0], {
    path: '/api/runtime/bootstrap/exchange',
    body: { runtimeId: 'rt_one', bootstrapToken: 'secret-boot-1', runtimeVersion: '1.0.0' },
  });
  t.deepEqual(
    at.host.effects().map(({ seq, action, key }) => [seq, action, key]),
    [
      [1, 'app.create', 'app-one'],
      [2, 'volume.create', 'data'],
      [3, 'secrets.set', 'app-one'],
      [4, 'machine.create', 'machine-one'],
    ],
  );
});

test('calls without the token are 401, unknown routes 404, wrong methods 405, broken bodies 400', async (t) => {
  const { host, api } = await aHost(t);
  t.is((await fetch(`${host.url}/v1/apps`)).status, 401);
  t.is((await fetch(`${host.url}/_/effects`)).status, 401);
  t.is((await api('GET', '/v1/nothing')).status, 404);
  t.is((await api('PUT', '/v1/apps')).status, 405);
  t.is((await api('POST', '/v1/apps', '{"name":')).status, 400);
  t.is((await api('POST', '/v1/apps', '[]')).status, 400);
  t.is((await api('POST', '/v1/apps', { name: 'x', pad: 'x'.repeat(1_100_000) })).status, 413);
  t.deepEqual(host.effects(), []);
});

test('an app name is taken once, an idempotency key serves one name', async (t) => {
  const { api, host } = await aHost(t);
  const first = await api('POST', '/v1/apps', { name: 'one', org_slug: ORG, idempotency_key: 'k' });
  t.is(first.status, 201);
  t.deepEqual((await api('POST', '/v1/apps', { name: 'one', org_slug: ORG, idempotency_key: 'k' })).body, first.body);
  t.is((await api('POST', '/v1/apps', { name: 'two', org_slug: ORG, idempotency_key: 'k' })).status, 422);
  const taken = await api('POST', '/v1/apps', { name: 'one', org_slug: ORG });
  t.is(taken.status, 422);
  t.is(taken.body.status, 'name_taken');
  t.is((await api('GET', '/v1/apps/one')).body.organization.slug, ORG);
  t.is((await api('GET', '/v1/apps/two')).status, 404);
  t.is(host.effects().length, 1);
});

test('deleting an app takes its machines and volumes along', async (t) => {
  const at = await aHost(t);
  const { path } = await aMachine(at);
  const [machine] = at.host.machinesOf('agt_one');
  t.is(machine?.state, 'started');
  t.is((await at.api('DELETE', '/v1/apps/app-one?force=true')).status, 202);
  t.is((await at.api('GET', '/v1/apps/app-one')).status, 404);
  t.is((await at.api('GET', path)).status, 404);
  t.deepEqual(at.host.machinesOf('agt_one'), []);
  t.deepEqual(at.host.volumes(), []);
  t.is((await at.api('GET', '/ingress/app-one/healthz')).status, 502);
  t.deepEqual(
    at.host
      .effects()
      .slice(4)
      .map(({ action }) => action)
      .toSorted(),
    ['app.delete', 'machine.delete', 'volume.delete'],
  );
  t.is((await at.api('POST', '/v1/apps', { name: 'app-one', org_slug: ORG })).status, 201);
});

test('secrets reach a machine with its next update, not with a bare start', async (t) => {
  const at = await aHost(t);
  const { path } = await aMachine(at);
  const bootToken = async (): Promise<string> => {
    const command = ['sh', '-c', 'printf %s "$ACP_BOOTSTRAP_TOKEN"'];
    return (await at.api('POST', `${path}/exec`, { command })).body.stdout;
  };
  t.is(await bootToken(), 'secret-boot-1');
  const { body: set } = await at.api('POST', '/v1/apps/app-one/secrets', {
    values: { ACP_BOOTSTRAP_TOKEN: 'secret-boot-2' },
  });
  t.is(set.version, 2);
  t.false(JSON.stringify(set).includes('secret-boot'));
  await at.api('POST', `${path}/restart`);
  await at.api('GET', `${path}/wait?state=started&timeout=10`);
  t.is(await bootToken(), 'secret-boot-1');
  const { body: now } = await at.api('GET', path);
  t.is((await at.api('POST', path, { config: now.config, min_secrets_version: 3 })).status, 422);
  t.is((await at.api('POST', path, { config: now.config, min_secrets_version: 2 })).status, 200);
  await at.api('GET', `${path}/wait?state=started&timeout=10`);
  t.is(await bootToken(), 'secret-boot-2');
});

test('machine names are unique in an app, volume names are not', async (t) => {
  const at = await aHost(t);
  const { id } = await aMachine(at);
  const again = await at.api('POST', '/v1/apps/app-one/machines', {
    name: 'machine-one',
    config: aConfig(at.controlPlane),
  });
  t.is(again.status, 409);
  t.true(again.body.error.includes(id));
  t.is((await at.api('POST', '/v1/apps/app-one/volumes', { name: 'data', region: 'ams' })).status, 200);
  const { body: volumes } = await at.api('GET', '/v1/apps/app-one/volumes');
  t.deepEqual(
    volumes.map((volume: { name: string }) => volume.name),
    ['data', 'data'],
  );
  t.deepEqual(
    volumes.map((volume: { attached_machine_id: string | null }) => volume.attached_machine_id),
    [id, null],
  );
});

test('twenty creations of one machine at once make one machine', async (t) => {
  const at = await aHost(t);
  await at.api('POST', '/v1/apps', { name: 'one', org_slug: ORG });
  const request = { name: 'only', skip_launch: true, config: { image: 'x' } };
  const answers = await Promise.all(Array.from({ length: 20 }, () => at.api('POST', '/v1/apps/one/machines', request)));
  t.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array.from({ length: 19 }, () => 409)],
  );
  t.is(at.host.effects().filter(({ action }) => action === 'machine.create').length, 1);
});

test('a volume held by a machine cannot be mounted twice, moved or deleted', async (t) => {
  const at = await aHost(t);
  const { path, volumeId } = await aMachine(at);
  const mounting = (region: string, volume: string) => ({
    name: 'second',
    region,
    config: aConfig(at.controlPlane, { mounts: [{ volume, path: '/data' }] }),
  });
  t.is((await at.api('POST', '/v1/apps/app-one/machines', mounting('ams', volumeId))).status, 412);
  t.is((await at.api('POST', '/v1/apps/app-one/machines', mounting('fra', volumeId))).status, 422);
  t.is((await at.api('POST', '/v1/apps/app-one/machines', mounting('ams', 'vol_none'))).status, 404);
  t.is((await at.api('DELETE', `/v1/apps/app-one/volumes/${volumeId}`)).status, 412);
  await at.api('DELETE', `${path}?force=true`);
  const gone = await at.api('DELETE', `/v1/apps/app-one/volumes/${volumeId}`);
  t.is(gone.status, 200);
  t.is(gone.body.state, 'pending_destroy');
  t.deepEqual(at.host.volumes(), []);
});

test('what a machine writes below its mount lies in the folder of the volume, unreadable for others', async (t) => {
  const at = await aHost(t);
  const { path, volumeId } = await aMachine(at);
  await until(
    () => at.api('GET', '/ingress/app-one/readyz'),
    ({ status }) => status === 200,
  );
  const stored = await readFile(join(at.dir, 'volumes', volumeId, 'acp', 'runtime.json'), 'utf8');
  t.is(JSON.parse(stored).session.runtimeId, 'rt_one');
  const { body } = await at.api('POST', `${path}/exec`, {
    command: ['sh', '-c', 'ls -l "$ACP_STATE_DIR"'],
  });
  t.regex(body.stdout, /-rw------- .* runtime\.json/);
});

test('the control routes do for another process what the object does in this one', async (t) => {
  const at = await aHost(t);
  const { id } = await aMachine(at);
  const effects = await at.api('GET', '/_/effects');
  t.deepEqual(
    (effects.body as string)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    at.host.effects(),
  );
  t.like((await at.api('GET', '/_/machines?agentId=agt_one')).body.machines, [{ id, app_name: 'app-one' }]);
  t.deepEqual((await at.api('GET', '/_/machines?agentId=agt_two')).body.machines, []);
  t.is((await at.api('POST', '/_/faults', { mode: 'nonsense' })).status, 400);
  t.is((await at.api('POST', '/_/faults', { mode: 'error-before', match: { path: '/v1/' } })).status, 201);
  t.is((await at.api('GET', '/v1/apps/app-one')).status, 500);
  t.like((await at.api('GET', '/_/faults')).body.faults, [{ mode: 'error-before', injected: 1 }]);
  t.is((await at.api('DELETE', '/_/faults')).status, 200);
  t.deepEqual(at.host.faults(), []);
  t.deepEqual((await at.api('POST', '/_/machines/agt_one/kill')).body.killed, [id]);
  t.is((await at.api('POST', '/_/machines/agt_two/kill')).status, 404);
  t.is(at.host.machinesOf('agt_one', { state: 'stopped' }).length, 1);
});

test('machines take the address of the stand-in from nobody: only PATH and what they were given', async (t) => {
  process.env['LEAKED_SETTING'] = 'x';
  const at = await aHost(t);
  const { path } = await aMachine(at);
  const { body } = await apiOf(at.host.url)('POST', `${path}/exec`, { command: ['env'] });
  const names = (body.stdout as string).split('\n').map((line) => line.split('=')[0]);
  t.false(names.includes('LEAKED_SETTING'));
  t.true(
    ['PATH', 'HOME', 'ACP_GATEWAY_TOKEN', 'FLY_APP_NAME', 'FLY_MACHINE_ID', 'FLY_REGION'].every((name) =>
      names.includes(name),
    ),
  );
});
