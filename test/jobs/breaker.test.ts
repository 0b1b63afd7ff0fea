import test from 'ava';
import { freePort } from '../../local/process/ports.js';
import { Temporal } from '../../src/jobs/temporal.js';
import { Job } from '../../src/models/job.js';
import { newId } from '../../src/models/new-id.js';

const options = (address: string) => ({ address, namespace: 'default', queuePrefix: `${newId('job')}-`, patience: 1 });

const aJobOf = (workflowId: string): Job =>
  Job.fromJson({
    id: newId('job'),
    kind: 'agent.start',
    userId: newId('user'),
    agentId: newId('agent'),
    subjectType: 'agent',
    subjectId: newId('agent'),
    requestedByType: 'user',
    requestedById: newId('user'),
    workflowId,
  });

test('jobs that Temporal refuses one by one do not make it count as away', async (t) => {
  const temporal = new Temporal(options(process.env['TEST_TEMPORAL_ADDRESS'] ?? ''));
  t.teardown(() => temporal.close());
  for (let i = 0; i < 4; i++) {
    const error = await t.throwsAsync(temporal.start(aJobOf('x'.repeat(5_000)), 5_000));
    t.log(String(error.cause));
  }
  t.true(temporal.seemsUp);
});

test('a Temporal that does not answer counts as away after three starts', async (t) => {
  const temporal = new Temporal(options(`127.0.0.1:${await freePort()}`));
  t.teardown(() => temporal.close());
  for (let i = 0; i < 3; i++) {
    t.true(temporal.seemsUp);
    await t.throwsAsync(temporal.start(aJobOf(newId('job')), 200));
  }
  t.false(temporal.seemsUp);
});
