import { Client, Connection } from '@temporalio/client';
import test from 'ava';
import type { Fault } from '../../local/faults.js';
import { freePort } from '../../local/process/ports.js';
import type { Job } from '../../src/contract/shapes/job.js';
import { assertUnknown, command, execs, hasBegun, linesOf } from '../support/a-command.js';
import { startProcess } from '../support/a-process.js';
import { startStack, withStack } from '../support/a-stack.js';
import { appNameOf } from '../support/host-side.js';
import { resetWorkflow } from '../support/reset-workflow.js';
import { until } from '../support/until.js';

const stack = withStack(test);
let connection: Connection;

test.before(async () => {
  connection = await Connection.connect({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
});
test.after.always(() => connection.close());

const lies: [string, Partial<Fault> & Pick<Fault, 'mode'>][] = [
  ['breaks the connection after it', { mode: 'reset-after' }],
  ['never answers', { mode: 'timeout-after' }],
  ['answers nonsense', { mode: 'malformed' }],
  ['fails after it', { mode: 'error-after', status: 500 }],
  ['fails before it', { mode: 'error-before', status: 503 }],
  ['breaks the connection before it', { mode: 'down', times: 1 }],
];
test('a host that fails, breaks off, says nothing or nonsense: once at most, and outcome_unknown', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const match = { path: `//apps/${appNameOf(agent.id)}/machines/.*exec$/` };
  const expected: string[] = [];
  for (const [what, fault] of lies) {
    stack().host.fault({ times: 1, ...fault, match });
    const job = await ada.finished((await command(ada, agent, 0, 1)).body.job);
    await assertUnknown(t, stack(), ada, agent, job, what);
    if (fault.mode.endsWith('-after') || fault.mode === 'malformed') expected.push('ran', 'over');
    t.deepEqual(await linesOf(stack(), agent), expected, what);
    t.is(execs(stack(), agent), expected.length / 2, what);
  }
});

const refusals: [number, string, boolean][] = [
  [400, 'upstream_failed', false],
  [401, 'vendor_misconfigured', true],
  [404, 'agent_not_online', false],
  [409, 'conflict', false],
  [412, 'agent_not_online', false],
];
test('a host that refuses a command: it has not run, and its end says why', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const match = { path: `//apps/${appNameOf(agent.id)}/machines/.*exec$/` };
  for (const [status, code, needsOperator] of refusals) {
    stack().host.fault({
      mode: 'error-before',
      status,
      match,
      body: { error: 'words of the host', status: 'unknown' },
    });
    const job = await ada.finished((await command(ada, agent, 0)).body.job);
    t.like(
      job,
      { status: 'failed', error: { code, needsOperator, retryable: true } },
      `${status} ${JSON.stringify(job)}`,
    );
    t.notRegex(JSON.stringify(job), /words of the host/);
  }
  t.is((await ada.agent(agent.id)).status, 'online');
  t.is(execs(stack(), agent), 0);
  // One that is too busy is asked again, because nothing has run.
  stack().host.fault({ mode: 'rate-limit', retryAfter: 1, times: 2, match });
  t.is((await ada.finished((await command(ada, agent, 0)).body.job)).status, 'succeeded');
  t.deepEqual(await linesOf(stack(), agent), ['ran', 'over']);
});

test('a host that nobody listens at: it has not run, and says so', async (t) => {
  t.timeout(120_000);
  const own = await startStack({ workers: ['control'] });
  t.teardown(() => own.close());
  const worker = await startProcess('workers/host', {
    ...own.env,
    HOST_API_URL: `http://127.0.0.1:${await freePort()}/v1`,
  });
  t.teardown(() => worker.kill());
  const ada = await own.user();
  const { id } = await ada.anAgent();
  const machine = { hostAppName: 'acp-x', hostMachineId: 'x', provisionedAt: new Date() };
  await own
    .db('agents')
    .update({ ...machine, status: 'online', desiredStatus: 'online' })
    .where({ id });
  const job = await ada.finished((await command(ada, await ada.agent(id), 0)).body.job);
  t.like(job, { status: 'failed', error: { code: 'host_unreachable', retryable: true } });
});

test('a workflow reset by hand, while its command runs and after: it is not run again', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const client = new Client({ connection });
  const reset = async (job: Job) => {
    await resetWorkflow(connection, job, 'first');
    await client.workflow
      .getHandle(job.workflowId)
      .result()
      .catch(() => undefined);
  };
  const running = (await command(ada, agent, 3)).body.job as Job;
  await hasBegun(stack(), agent);
  await reset(running);
  await assertUnknown(t, stack(), ada, agent, await ada.finished(running), 'reset while it ran');
  await until('it is over', async () => (await linesOf(stack(), agent)).includes('over'));
  t.deepEqual(await linesOf(stack(), agent), ['ran', 'over']);

  const ended = await ada.finished((await command(ada, agent, 0)).body.job);
  t.is(ended.status, 'succeeded');
  await reset(ended);
  t.deepEqual(await ada.finished(ended), ended, 'nor is what it said lost');
  t.is(execs(stack(), agent), 2);
});

test('a workflow terminated by hand: the dispatcher ends the job, and asks no operator', async (t) => {
  t.timeout(120_000);
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const { db, host } = stack();
  host.fault({ mode: 'timeout-after', times: 1, match: { path: `//apps/${appNameOf(agent.id)}/machines/.*exec$/` } });
  const job = (await command(ada, agent, 0)).body.job as Job;
  await hasBegun(stack(), agent);
  await new Client({ connection }).workflow.getHandle(job.workflowId).terminate('by hand');
  await db('jobs')
    .where({ id: job.id })
    .update({ deadlineAt: db.raw(`now() - interval '11 s'`) });
  await assertUnknown(t, stack(), ada, agent, await ada.finished(job), 'terminated');
  t.deepEqual(await linesOf(stack(), agent), ['ran', 'over']);
});
