import test from 'ava';
import { aPass, passesUntil } from '../support/a-pass.js';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);
const wait = { headers: { prefer: 'wait=60' } };

const pass = () => aPass(stack());
const until = (look: () => Promise<boolean>) => passesUntil(stack(), look);

test.serial('a machine that stopped by itself is noticed, and a start leads out', async (t) => {
  const ada = await stack().user();
  const { id, hostMachineId } = await ada.anOnlineAgent();
  await stack().host.killMachine(id, { restart: false });
  await until(async () => (await ada.agent(id)).status === 'error');
  t.like(await ada.agent(id), { status: 'error', desiredStatus: 'online', lastError: { code: 'machine_not_ready' } });
  t.is((await ada.call('agents.status', { id })).body.machine.state, 'stopped');
  const started = await ada.call('agents.start', { id }, wait);
  t.like(started.body, { ok: true, agent: { status: 'online', hostMachineId, lastError: null } });
});

test.serial('a machine that vanished is noticed, and a start replaces it with the same volume', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  const path = `${stack().host.url}/v1/apps/${agent.hostAppName}/machines/${agent.hostMachineId}?force=true`;
  await fetch(path, { method: 'DELETE', headers: { authorization: `Bearer ${stack().env['HOST_API_TOKEN']}` } });
  await until(async () => (await ada.agent(agent.id)).status === 'error');
  const started = await ada.call('agents.start', { id: agent.id }, wait);
  t.is(started.body.agent.status, 'online', JSON.stringify(started.body.job));
  t.not(started.body.agent.hostMachineId, agent.hostMachineId);
  t.is(started.body.agent.hostVolumeId, agent.hostVolumeId);
  t.is(stack().host.machinesOf(agent.id, { state: 'started' }).length, 1);
});

test.serial('a pass over what has not changed costs one call and writes nothing', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await pass();
  await pass();
  const { updatedAt } = await ada.agent(id);
  const report = await pass();
  t.like(report, { hostCalls: 1, changed: 0 });
  t.is((await ada.agent(id)).updatedAt, updatedAt);
});

test.serial('an agent with a job under way is left alone', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await stack().db('agents').update({ activeJobId: 'job_01jd0000000000000000000000' }).where({ id });
  await stack().host.killMachine(id, { restart: false });
  for (let passes = 0; passes < 3; passes++) await pass();
  t.is((await ada.agent(id)).status, 'online');
  await stack().db('agents').update({ activeJobId: null }).where({ id });
});
