import test from 'ava';
import type { Fault } from '../../local/faults.js';
import { aHost, aMachine, ORG, until, type Answered, type HostAtHand } from './a-host.js';

const create = ({ api }: HostAtHand, name: string): Promise<Answered> =>
  api('POST', '/v1/apps', { name, org_slug: ORG });

const made = ({ host }: HostAtHand): string[] => host.effects().map(({ key }) => key);

const on = (mode: Fault['mode'], more: Partial<Fault> = {}): Fault => ({
  mode,
  match: { method: 'POST', path: '/v1/apps' },
  ...more,
});

test('error-before answers without the effect, once, with the body given', async (t) => {
  const at = await aHost(t);
  at.host.fault(on('error-before', { status: 422, body: { error: 'full', status: 'insufficient_capacity' } }));
  const answer = await create(at, 'one');
  t.is(answer.status, 422);
  t.deepEqual(answer.body, { error: 'full', status: 'insufficient_capacity' });
  t.deepEqual(made(at), []);
  t.is((await create(at, 'one')).status, 201);
});

test('error-after, reset-after, malformed and timeout-after let the effect happen', async (t) => {
  const at = await aHost(t);
  at.host.fault(on('error-after', { status: 503 }));
  t.is((await create(at, 'one')).status, 503);
  at.host.fault(on('reset-after'));
  await t.throwsAsync(create(at, 'two'));
  at.host.fault(on('malformed'));
  const broken = await create(at, 'three');
  t.is(broken.status, 201);
  t.is(typeof broken.body, 'string');
  at.host.fault(on('timeout-after'));
  const request = {
    method: 'POST',
    headers: { authorization: 'Bearer host-token' },
    body: `{"name":"four","org_slug":"${ORG}"}`,
  };
  await t.throwsAsync(fetch(`${at.host.url}/v1/apps`, { ...request, signal: AbortSignal.timeout(300) }), { any: true });
  t.deepEqual(made(at), ['one', 'two', 'three', 'four']);
});

test('a fault strikes as often as it says; down and delay last until cleared', async (t) => {
  const at = await aHost(t);
  at.host.fault(on('rate-limit', { times: 2, retryAfter: 7 }));
  const limited = await create(at, 'one');
  t.is(limited.status, 429);
  t.is(limited.headers.get('retry-after'), '7');
  t.is((await create(at, 'one')).status, 429);
  t.is((await create(at, 'one')).status, 201);
  at.host.fault(on('down'));
  await t.throwsAsync(create(at, 'two'));
  await t.throwsAsync(create(at, 'two'));
  t.like(at.host.faults(), [
    { mode: 'rate-limit', injected: 2 },
    { mode: 'down', injected: 2 },
  ]);
  at.host.clearFaults();
  at.host.fault(on('delay', { delayMs: 150 }));
  const since = Date.now();
  t.is((await create(at, 'two')).status, 201);
  t.is((await create(at, 'three')).status, 201);
  t.true(Date.now() - since >= 295);
});

test('a fault is matched by method and by part or expression of the path', async (t) => {
  const at = await aHost(t);
  const { path } = await aMachine(at);
  at.host.fault({ mode: 'error-before', match: { method: 'post', path: '/start$/' } });
  t.is((await at.api('GET', path)).status, 200);
  t.is((await at.api('POST', `${path}/stop`)).status, 200);
  t.is((await at.api('POST', `${path}/start`)).status, 500);
  at.host.fault({ mode: 'error-before', match: { path: '/machines/' } });
  t.is((await at.api('GET', '/v1/apps/app-one/machines')).status, 200);
  t.is((await at.api('GET', path)).status, 500);
});

test('the ingress fails only by faults that name its path', async (t) => {
  const at = await aHost(t);
  await aMachine(at);
  await until(
    () => at.api('GET', '/ingress/app-one/healthz'),
    ({ status }) => status === 200,
  );
  at.host.fault({ mode: 'down' });
  await t.throwsAsync(at.api('GET', '/v1/apps/app-one'));
  t.is((await at.api('GET', '/ingress/app-one/healthz')).status, 200);
  at.host.clearFaults();
  at.host.fault({ mode: 'error-after', status: 502, match: { path: '/ingress/app-one' } });
  t.is((await at.api('GET', '/ingress/app-one/healthz')).status, 502);
  t.is((await at.api('GET', '/ingress/app-one/healthz')).status, 200);
});

test('a fault that makes no sense is refused', async (t) => {
  const { host } = await aHost(t);
  t.throws(() => host.fault({ mode: 'sometimes' } as unknown as Fault), {
    message: /mode must be/,
  });
  t.throws(() => host.fault({ mode: 'delay' }), { message: /delayMs/ });
  t.throws(() => host.fault({ mode: 'down', times: -1 }), { message: /times/ });
  t.throws(() => host.fault({ mode: 'down', match: { path: '/(/' } }));
});

test('twice delivers the request twice and sends the second answer', async (t) => {
  const at = await aHost(t);
  at.host.fault(on('twice'));
  t.is((await create(at, 'one')).status, 422, 'the name is taken by the first delivery');
  t.deepEqual(made(at), ['one']);
  at.host.fault({ mode: 'twice', match: { method: 'POST', path: '/volumes$/' } });
  const volume = { name: 'data', region: 'ams' };
  const answer = await at.api('POST', '/v1/apps/one/volumes', volume);
  t.is(answer.status, 200);
  const [, first, second] = at.host.effects();
  t.is(first?.action, 'volume.create');
  t.is(second?.id, answer.body.id as string);
});

test('a fault is matched by a part of the body, counts for who added it, and is removed alone', async (t) => {
  const at = await aHost(t);
  const refuse = (name: string) =>
    at.host.fault({ mode: 'error-before', times: 2, match: { path: '/v1/apps', body: `"${name}"` } });
  const [one, two] = [refuse('one'), refuse('two')];
  t.is((await create(at, 'three')).status, 201);
  t.is((await create(at, 'two')).status, 500);
  t.deepEqual([one.injected(), two.injected()], [0, 1]);
  two.remove();
  t.is((await create(at, 'two')).status, 201);
  t.is((await create(at, 'one')).status, 500);
  t.deepEqual([one.injected(), two.injected()], [1, 1]);
});
