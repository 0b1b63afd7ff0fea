import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { aControlPlane } from './a-control-plane.js';
import { aFolder, until } from './a-host.js';
import { aRuntime, entry, isReady } from './a-runtime.js';

const RPC = '/api/v1/admin/rpc';

test('the rpc route: token, method, size, known and unknown calls', async (t) => {
  const controlPlane = await aControlPlane(t);
  const { url, ready } = await aRuntime(t, { controlPlane });
  await until(ready, isReady);
  const call = async (body: string, token = 'secret-gateway-1') => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(url + RPC, { method: 'POST', headers, body });
    return { status: response.status, text: await response.text() };
  };
  t.is((await fetch(url + RPC, { method: 'POST', body: '{}' })).status, 401);
  t.is((await call('{}', 'secret-gateway-2')).status, 401);
  t.is((await call('{}', '')).status, 401);
  const wrong = await fetch(url + RPC);
  t.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
  t.is((await call('x'.repeat(300_000))).status, 413);

  const health = await call('{"id":"1","method":"health"}');
  t.like(JSON.parse(health.text), { id: '1', ok: true, payload: { ok: true } });
  t.like(JSON.parse((await call('{"id":2,"method":"status"}')).text), {
    id: 2,
    ok: true,
    payload: { agentId: 'agt_one', runtimeId: 'rt_one', runtimeVersion: '1.2.3', ready: true },
  });
  t.regex(JSON.parse((await call('{"method":"config.get"}')).text).payload.hash, /^[0-9a-f]{64}$/);
  for (const body of ['{"id":3,"method":"shutdown"}', '{"method":"toString"}', '{"method":1}', '[]', 'nonsense']) {
    const { status, text } = await call(body);
    t.is(status, 400);
    t.like(JSON.parse(text), { ok: false, error: { code: 'INVALID_REQUEST' } });
  }
});

test('SIGTERM ends it within a second with 0, also while a connection is open and an exchange under way', async (t) => {
  const controlPlane = await aControlPlane(t);
  controlPlane.exchanges.push({ status: 503 });
  const { child, url } = await aRuntime(t, { controlPlane });
  const open = fetch(url + RPC, {
    method: 'POST',
    headers: { authorization: 'Bearer secret-gateway-1' },
    body: new ReadableStream(),
    duplex: 'half',
  }).catch(() => 'cut');
  await sleep(100);
  const since = Date.now();
  child.kill('SIGTERM');
  t.deepEqual(await once(child, 'exit'), [0, null]);
  t.true(Date.now() - since < 5_000, 'the open connection does not hold it up');
  t.is(await open, 'cut');
});

test('with --end-with-stdin it ends when its parent is gone; with --never-ready it never signs on', async (t) => {
  const controlPlane = await aControlPlane(t);
  const { child, ready } = await aRuntime(t, {
    controlPlane,
    args: ['--end-with-stdin', '--never-ready'],
  });
  await sleep(200);
  t.is((await ready()).status, 503);
  t.deepEqual(controlPlane.seen, []);
  child.stdin?.destroy();
  t.deepEqual(await once(child, 'exit'), [0, null]);
});

test('missing settings are named, a taken port ends it with 98', async (t) => {
  const ended = async (env: Record<string, string>, args: string[] = []): Promise<[number, string]> => {
    const child = spawn(process.execPath, [entry, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk));
    const [code] = (await once(child, 'close')) as [number];
    return [code, output];
  };
  const [code, output] = await ended({ ACP_URL: 'ftp://x' });
  t.is(code, 1);
  for (const name of ['ACP_AGENT_ID', 'ACP_BOOTSTRAP_TOKEN', 'http or https']) t.true(output.includes(name));

  const { url } = await aControlPlane(t);
  const env = {
    ACP_URL: url,
    ACP_AGENT_ID: 'a',
    ACP_RUNTIME_ID: 'r',
    ACP_RUNTIME_VERSION: '1',
    ACP_BOOTSTRAP_TOKEN: 'b',
    ACP_GATEWAY_TOKEN: 'g',
  };
  t.is((await ended(env, ['--listen', new URL(url).host, '--state-dir', await aFolder(t)]))[0], 98);
});
