import test from 'ava';
import { AgentStatus, type DesiredStatus } from '../../src/contract/shapes/agent.js';
import { observe, type Seen } from '../../src/rules/observe.js';

const wishes: DesiredStatus[] = ['online', 'offline', 'deleted'];
const settled: AgentStatus[] = ['online', 'offline', 'error'];
const sights: Record<string, Seen> = {
  gone: 'gone',
  stopped: { state: 'stopped', gatewayReady: false },
  silent: { state: 'started', gatewayReady: false },
  ready: { state: 'started', gatewayReady: true },
  unheard: { state: 'hibernating', gatewayReady: false },
};
const seen = (status: AgentStatus, desiredStatus: DesiredStatus, sight: string): AgentStatus =>
  observe({ status, desiredStatus }, sights[sight] ?? 'gone').status;

test('what a job is doing is not an observer’s to say', (t) => {
  for (const status of AgentStatus.options.filter((one) => !settled.includes(one)))
    for (const wish of wishes) for (const sight of Object.keys(sights)) t.is(seen(status, wish, sight), status);
});

test('no agent is online whose machine stands still, is gone, or does not answer', (t) => {
  for (const status of settled)
    for (const wish of ['online', 'offline'] as const)
      for (const sight of ['gone', 'stopped', 'silent', 'unheard'])
        t.not(seen(status, wish, sight), 'online', `${status} ${wish} ${sight}`);
});

test('a machine that stopped by itself is an error with a reason where it was wanted, and offline where it was not', (t) => {
  t.like(observe({ status: 'online', desiredStatus: 'online' }, sights['stopped'] ?? 'gone'), {
    status: 'error',
    reason: 'The machine stopped by itself: the host says stopped.',
  });
  t.deepEqual(observe({ status: 'online', desiredStatus: 'offline' }, sights['stopped'] ?? 'gone'), {
    status: 'offline',
  });
  t.is(seen('offline', 'offline', 'stopped'), 'offline');
  t.is(seen('error', 'online', 'stopped'), 'error');
});

test('a machine that answers is online, wanted or not', (t) => {
  for (const status of settled)
    for (const wish of ['online', 'offline'] as const) t.is(seen(status, wish, 'ready'), 'online');
});

test('a deletion that failed stays an error, whatever its machine does', (t) => {
  for (const sight of Object.keys(sights)) t.is(seen('error', 'deleted', sight), 'error', sight);
});
