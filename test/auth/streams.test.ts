import test from 'ava';
import { settleJob } from '../../src/models/settle-job.js';
import { aNamedToken } from '../support/a-device-login.js';
import { isProblem } from '../support/a-problem.js';
import { until } from '../support/until.js';
import { anEventStream } from '../support/an-event-stream.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test, { workers: false });

test('who waited for a job and was revoked meanwhile is told nothing of it', async (t) => {
  const ada = await stack().user();
  const { caller, sessionId } = await aNamedToken(stack(), ada, ['agents']);
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const waiting = caller.call('jobs.get', { id: body.job.id }, { headers: { prefer: 'wait=2' } });
  await until('it waits', async () => (await stack().db('token_families').where({ id: sessionId }).first()).usedAt);
  await ada.call('auth.sessions.revoke', { id: sessionId });
  isProblem(t, await waiting, 'unauthenticated');
});

test('who waited for a log and was revoked meanwhile is shown none of it', async (t) => {
  const ada = await stack().user();
  const { caller, sessionId } = await aNamedToken(stack(), ada, ['agents']);
  const { id } = await ada.anAgent();
  const machine = { status: 'online', hostMachineId: 'm', hostAppName: 'a', provisionedAt: new Date() };
  await stack().db('agents').update(machine).where({ id });
  const waiting = caller.call('agents.logs', { id }, { headers: { prefer: 'wait=30' } });
  const job = await until('it waits', async () => await stack().db('jobs').where({ agentId: id }).first());
  await ada.call('auth.sessions.revoke', { id: sessionId });
  await stack().db.transaction((trx) => settleJob(trx, job.id, { status: 'succeeded' }));
  isProblem(t, await waiting, 'unauthenticated');
});

test('an event stream ends when the token that opened it is revoked, and goes on for others', async (t) => {
  const ada = await stack().user();
  const { caller, sessionId } = await aNamedToken(stack(), ada, ['agents']);
  const { id } = await ada.anAgent();
  const { body } = await ada.call('agents.provision', { id });
  const [theirs, hers] = [await anEventStream(caller, body.job.id), await anEventStream(ada, body.job.id)];
  let hersEnded = false;
  void hers.ended.then(() => (hersEnded = true));
  await ada.call('auth.sessions.revoke', { id: sessionId });
  const revoked = performance.now();
  await theirs.ended;
  const seconds = (performance.now() - revoked) / 1_000;
  t.log(`ended ${seconds.toFixed(1)} s after the revocation`);
  t.true(seconds < 20);
  t.false(hersEnded);
  hers.leave();
});
