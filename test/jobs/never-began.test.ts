import test from 'ava';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

test('an agent whose job is canceled before it began is what it was before', async (t) => {
  const ada = await stack().user();
  for (const before of ['offline', 'error'] as const) {
    const { id } = await ada.anAgent();
    await stack().db('agents').update({ status: before, hostMachineId: 'm1', provisionedAt: new Date() }).where({ id });
    const { body } = await ada.call('agents.start', { id });
    t.is(body.agent.status, 'starting');
    await ada.call('jobs.cancel', { id: body.job.id });
    t.like(await ada.agent(id), { status: before, desiredStatus: 'offline', activeJobId: null });
  }
});

test('a job of a kind that only a later release knows is shown, and does not hold up the others', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const row = await stack().db('jobs').where({ id: body.job.id }).first();
  const later = {
    ...row,
    id: `${row.id.slice(0, -2)}zz`,
    kind: 'agent.teleport',
    lockKey: null,
    steps: '[]',
    params: '{}',
    agentBefore: null,
  };
  await stack().db('jobs').insert(later);
  const list = await ada.call('jobs.list', {});
  t.is(list.status, 200);
  t.true(list.body.jobs.some((job: { kind: string }) => job.kind === 'agent.teleport'));
});
