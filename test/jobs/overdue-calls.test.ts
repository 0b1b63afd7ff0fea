import test from 'ava';
import type { Job } from '../../src/contract/shapes/job.js';
import type { ACaller } from '../support/a-caller.js';
import { startStack, withStack } from '../support/a-stack.js';

// Workers that are gone: workflows are open, and nobody takes their tasks.
const stack = withStack(test, { workers: false });

/** An agent that passes for online. */
const anAgentAsIfOnline = async (ada: ACaller, { db } = stack()): Promise<string> => {
  const { id } = await ada.anAgent();
  await db('agents')
    .where({ id })
    .update({ status: 'online', hostAppName: `acp-${id}`, hostMachineId: 'none', provisionedAt: new Date() });
  return id;
};

const runCommand = async (ada: ACaller, id: string): Promise<Job> =>
  (await ada.call('agents.run-command', { id }, { body: { command: ['true'] } })).body.job as Job;
const readLogs = async (ada: ACaller, id: string): Promise<Job> =>
  (await ada.call('agents.logs', { id })).body.job as Job;

/** Makes it one that was asked for so long ago. */
const asked = async ({ id }: Job, seconds: number, { db } = stack()): Promise<void> => {
  await db('jobs')
    .where({ id })
    .update({ createdAt: db.raw('now() - make_interval(secs => ?)', [seconds]) });
};

/** Makes it one that a worker began before it was gone, past its deadline by so long. */
const begun = async ({ id }: Job, minutes: number): Promise<void> => {
  const { db } = stack();
  const deadlineAt = db.raw('now() - make_interval(mins => ?)', [minutes]);
  await db('jobs').where({ id }).update({ status: 'running', startedAt: deadlineAt, deadlineAt });
  await db('machine_calls').where({ jobId: id }).update({ begunBy: 'a worker that is gone', sealedRequest: null });
};

test('a command that had begun ends as of unknown outcome, and is not to be run again', async (t) => {
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(ada);
  const [command, log, other] = [await runCommand(ada, id), await readLogs(ada, id), await runCommand(ada, id)];
  await begun(other, 14);
  await begun(log, 16);
  await begun(command, 16);
  const ended = await ada.finished(command, 30);
  t.like(ended, {
    status: 'failed',
    error: { code: 'outcome_unknown', retryable: false, needsOperator: false },
  });
  t.like((await ada.finished(log, 30)).error, { code: 'unavailable', retryable: true, needsOperator: false });
  t.is((await ada.call('jobs.get', { id: other.id })).body.status, 'running', 'its worker may still be at it');
  t.like(await ada.agent(id), { status: 'online', lastError: null });
});

test('what did not begin within five minutes has not run', async (t) => {
  const ada = await stack().user();
  const id = await anAgentAsIfOnline(ada);
  const [command, log, fresh] = [await runCommand(ada, id), await readLogs(ada, id), await runCommand(ada, id)];
  await asked(fresh, 270);
  await asked(command, 301);
  await asked(log, 301);
  for (const job of [command, log]) {
    const { status, error } = await ada.finished(job, 30);
    t.is(status, 'failed');
    t.like(error, { code: 'unavailable', retryable: true, needsOperator: false });
    t.regex(error?.message ?? '', /has not run|was not read/);
  }
  t.is((await ada.call('jobs.get', { id: fresh.id })).body.status, 'queued');
});

test('also while Temporal cannot be reached', async (t) => {
  t.timeout(60_000);
  const lonely = await startStack({ workers: false, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  t.teardown(() => lonely.close());
  const ada = await lonely.user();
  const command = await runCommand(ada, await anAgentAsIfOnline(ada, lonely));
  await asked(command, 301, lonely);
  t.like((await ada.finished(command, 30)).error, { code: 'unavailable', retryable: true });
});
