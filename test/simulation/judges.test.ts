import test from 'ava';
import type { Effect } from '../../local/host/effect-log.js';
import type { Job, JobStatus } from '../../src/contract/shapes/job.js';
import { appNameOf, volumeNameOf } from '../support/host-side.js';
import { expectedOf, unexcused } from './model.js';
import { judge } from './oracle.js';
import { makePlan } from './plan.js';

const agentId = 'agt_01m7x000000000000000000000';
const names: Record<string, string> = { volume: volumeNameOf(agentId) };

/** Effects a second apart, as `machine.create m1`. */
const effects = (...lines: string[]): Effect[] =>
  lines.map((line, index) => {
    const [action = '', id = ''] = line.split(' ');
    const key = names[action.split('.')[0] ?? ''] ?? appNameOf(agentId);
    return { seq: index + 1, at: new Date(index * 1_000).toISOString(), action, key, id };
  });

const life = ['app.create a', 'volume.create v', 'secrets.set a', 'machine.create m', 'machine.start m'];
const death = ['machine.delete m', 'app.delete a', 'volume.delete v'];
const deletedAt = 7_500;

test('a life that begins and ends as it should is judged right', (t) => {
  t.deepEqual(judge(effects(...life, ...death), { agentId, deletedAt, volumeTwice: false }), []);
});

test('two of a kind at once are a duplicate, one after the other are not', (t) => {
  const judged = (...lines: string[]) => judge(effects(...lines), { agentId, volumeTwice: false });
  t.regex(judged(...life, 'machine.create m2')[0] ?? '', /duplicate: 2 machines/);
  t.regex(judged(...life, 'volume.create v2')[0] ?? '', /duplicate: 2 volumes/);
  t.deepEqual(judged(...life, 'machine.delete m', 'machine.create m2'), []);
  t.deepEqual(judged(...life, 'app.delete a', 'app.create a2', 'volume.create v2'), []);
});

test('a second volume is excused when the host was made to create it', (t) => {
  t.deepEqual(judge(effects(...life, 'volume.create v2'), { agentId, volumeTwice: true }), []);
  t.is(judge(effects(...life, 'volume.create v2', 'volume.create v3'), { agentId, volumeTwice: true }).length, 1);
});

test('what comes to life after the deletion is a resurrection, what stays is an orphan', (t) => {
  const judged = (...lines: string[]) => judge(effects(...lines), { agentId, deletedAt, volumeTwice: false });
  t.deepEqual(
    judged(...life, ...death, 'app.create a2').map((what) => what.split(':')[0]),
    ['resurrection', 'orphan'],
  );
  t.regex(judged(...life, ...death, 'machine.start m')[0] ?? '', /^resurrection/);
  t.regex(judged(...life, 'volume.delete v')[0] ?? '', /^orphan: app a/);
});

const aJob = (kind: string, status: JobStatus, more: Partial<Job> = {}): Job => ({
  id: 'job_1',
  kind,
  status,
  subject: { type: 'agent', id: agentId },
  agentId,
  step: null,
  steps: [],
  result: null,
  error: null,
  cancelable: false,
  requestedBy: { type: 'user', id: 'usr_1' },
  workflowId: 'w',
  createdAt: new Date(1_000).toISOString(),
  startedAt: new Date(2_000).toISOString(),
  finishedAt: new Date(3_000).toISOString(),
  deadlineAt: null,
  ...more,
});

test('the last acknowledged wish decides what an agent may be', (t) => {
  const expected = (...jobs: Job[]) => expectedOf({ jobs, powerCuts: [] });
  const online = aJob('agent.start', 'succeeded');
  t.deepEqual(expected(), { status: ['offline'], running: 0 });
  t.deepEqual(expected(online), { status: ['online'], running: 1 });
  t.deepEqual(expected(online, aJob('agent.stop', 'succeeded')), { status: ['offline'], running: 0 });
  t.deepEqual(expected(online, aJob('agent.delete', 'succeeded')), { status: ['gone'], running: 0 });
  t.deepEqual(expected(aJob('agent.start', 'failed')), { status: ['error'], running: 0 });
  t.deepEqual(expected(aJob('agent.start', 'canceled')), { status: ['offline'], running: 0 });
  t.deepEqual(expected(online, aJob('agent.start', 'canceled', { startedAt: null })), expected(online));
  t.deepEqual(expectedOf({ jobs: [online], powerCuts: [5_000] }).status, ['online', 'error']);
});

test('a failure needs an excuse', (t) => {
  const error = { code: 'host_capacity', message: 'no room', retryable: true, needsOperator: false };
  const failed = aJob('agent.provision', 'failed', { error });
  t.is(unexcused(failed, { capacity: true, powerCut: false }), undefined);
  t.regex(unexcused(failed, { capacity: false, powerCut: true }) ?? '', /failed with host_capacity/);
  const stuck = aJob('agent.provision', 'failed', { error: { ...error, needsOperator: true } });
  t.regex(unexcused(stuck, { capacity: true, powerCut: true }) ?? '', /needs an operator/);
  t.is(unexcused(aJob('agent.delete', 'canceled'), { capacity: true, powerCut: true }), 'a deletion was canceled');
});

test('a seed decides its plan alone, and plans differ', (t) => {
  t.deepEqual(makePlan(7), makePlan(7));
  const plans = Array.from({ length: 50 }, (_, seed) => JSON.stringify({ ...makePlan(seed), seed: 0 }));
  t.is(new Set(plans).size, 50);
});
