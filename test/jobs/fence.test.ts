import test from 'ava';
import { createAgentJob } from '../../src/jobs/index.js';
import { Agent, changeHeldAgent, NotHolder } from '../../src/models/agent.js';
import { settleJob } from '../../src/models/settle-job.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

const aHeldAgent = async () => {
  const { db } = stack();
  const { id } = await (await stack().user()).anAgent();
  const agent = await Agent.query(db).findById(id).throwIfNotFound();
  const { job } = await db.transaction((trx) =>
    createAgentJob(trx, { kind: 'agent.provision', agent, requestedBy: { type: 'user', id: agent.userId } }),
  );
  await db('agents').update({ holderJobId: job.id }).where({ id });
  return { db, id, job };
};

test('a job that no longer holds the agent writes nothing', async (t) => {
  const { db, id, job } = await aHeldAgent();
  await changeHeldAgent(db, job.id, id, { hostVolumeId: 'vol_mine' });
  await db('agents').update({ holderJobId: 'job_another' }).where({ id });
  await t.throwsAsync(changeHeldAgent(db, job.id, id, { hostVolumeId: 'vol_late' }), { instanceOf: NotHolder });
  t.is((await Agent.query(db).findById(id))?.hostVolumeId, 'vol_mine');
});

test('a job that has ended writes nothing', async (t) => {
  const { db, id, job } = await aHeldAgent();
  await db.transaction((trx) => settleJob(trx, job.id, { status: 'succeeded' }));
  await t.throwsAsync(changeHeldAgent(db, job.id, id, { hostVolumeId: 'vol_late' }), { instanceOf: NotHolder });
});

test('the first to settle a job wins, the second changes nothing', async (t) => {
  const { db, id, job } = await aHeldAgent();
  const settle = (status: 'succeeded' | 'canceled') => db.transaction((trx) => settleJob(trx, job.id, { status }));
  t.true(await settle('succeeded'));
  t.false(await settle('canceled'));
  const [agent, row] = [await Agent.query(db).findById(id), await db('jobs').where({ id: job.id }).first()];
  t.like(agent, { status: 'online', activeJobId: null, holderJobId: null });
  t.is(row.status, 'succeeded');
});

test('the end of a superseded job leaves the agent to the job that followed', async (t) => {
  const { db, id, job } = await aHeldAgent();
  await db('agents').update({ activeJobId: 'job_next', status: 'stopping' }).where({ id });
  await db.transaction((trx) => settleJob(trx, job.id, { status: 'canceled' }));
  t.like(await Agent.query(db).findById(id), { status: 'stopping', activeJobId: 'job_next', holderJobId: null });
});

test('the database refuses a second unfinished job under the same lock', async (t) => {
  const { db, id, job } = await aHeldAgent();
  const row = await db('jobs').where({ id: job.id }).first();
  const again = { ...row, id: `${job.id.slice(0, -1)}0`, steps: '[]', params: '{}' };
  await t.throwsAsync(db('jobs').insert(again), { message: /jobs_lock/ });
  await db.transaction((trx) => settleJob(trx, job.id, { status: 'failed' }));
  await t.notThrowsAsync(db('jobs').insert(again));
  t.is((await Agent.query(db).findById(id))?.status, 'error');
});
