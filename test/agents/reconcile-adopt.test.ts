import test from 'ava';
import type { Agent } from '../../src/contract/shapes/agent.js';
import { aPass, aSweep } from '../support/a-pass.js';
import { withStack } from '../support/a-stack.js';
import { atHost } from '../support/at-host.js';

const stack = withStack(test);
const wait = { headers: { prefer: 'wait=60' } };
test.afterEach.always(() => stack().host.clearFaults());

/** What a host does that moves a machine: the old one is gone, another has its configuration and its volume. */
const moved = async ({ hostAppName, hostMachineId }: Agent, names: string[]): Promise<string[]> => {
  const machine = `/apps/${hostAppName}/machines/${hostMachineId}`;
  const { config, region } = await atHost(stack(), 'GET', machine);
  await atHost(stack(), 'DELETE', `${machine}?force=true`);
  const ids: string[] = [];
  for (const [index, name] of names.entries()) {
    const own = index === 0 ? config : { ...config, mounts: [] };
    ids.push((await atHost(stack(), 'POST', `/apps/${hostAppName}/machines`, { name, region, config: own })).id);
  }
  return ids;
};

for (const [title, nameOf] of [
  ['under our name', (agent: Agent) => agent.hostAppName ?? ''],
  ['under another name', () => 'restless-river-17'],
] as const)
  test.serial(`a machine that the host moved is adopted by its tags, ${title}`, async (t) => {
    const ada = await stack().user();
    const agent = await ada.anOnlineAgent();
    const [id] = await moved(agent, [nameOf(agent)]);
    for (let passes = 0; passes < 3; passes++) await aPass(stack());
    t.like(await ada.agent(agent.id), { hostMachineId: id ?? '', hostVolumeId: agent.hostVolumeId });
    await ada.call('agents.stop', { id: agent.id }, wait);
    const { body } = await ada.call('agents.start', { id: agent.id }, wait);
    t.like(body, { ok: true, agent: { status: 'online', hostMachineId: id } }, JSON.stringify(body.job));
    t.is(stack().host.machinesOf(agent.id).length, 1);
  });

test.serial('of two machines that carry the agent’s tags neither is adopted', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await moved(agent, ['one', 'two']);
  await aPass(stack());
  await aSweep(stack());
  t.like(await ada.agent(agent.id), { status: 'error', hostMachineId: agent.hostMachineId });
  t.is(stack().host.machinesOf(agent.id).length, 2, 'and neither is touched');
});

test.serial('a row that lost the ids of its machine and its volume finds them again', async (t) => {
  const ada = await stack().user();
  const { id, hostMachineId, hostVolumeId, hostAppName } = await ada.anOnlineAgent();
  await stack().db('agents').update({ hostMachineId: null, hostVolumeId: null }).where({ id });
  stack().host.fault({
    match: { method: 'GET', path: `/apps/${hostAppName}/volumes` },
    mode: 'error-before',
    times: 0,
  });
  t.true((await aSweep(stack())).failed > 0);
  t.like(
    await ada.agent(id),
    { hostMachineId: null, hostVolumeId: null },
    'nothing is taken for granted while a look-up fails',
  );
  stack().host.clearFaults();
  await aSweep(stack());
  t.like(await ada.agent(id), { status: 'online', hostMachineId, hostVolumeId });
});

test.serial('a row that lost the id of its volume alone finds it again', async (t) => {
  const ada = await stack().user();
  const { id, hostVolumeId } = await ada.anOnlineAgent();
  await aSweep(stack());
  await stack().db('agents').update({ hostVolumeId: null }).where({ id });
  await aSweep(stack());
  t.like(await ada.agent(id), { status: 'online', hostVolumeId });
});

test.serial('a start of an agent whose volume’s id was lost does not take the volume from the machine', async (t) => {
  const ada = await stack().user();
  const { id, hostVolumeId } = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id }, wait);
  await stack().db('agents').update({ hostVolumeId: null }).where({ id });
  const { body } = await ada.call('agents.start', { id }, wait);
  t.like(body, { ok: true, agent: { status: 'online', hostVolumeId } }, JSON.stringify(body.job));
  t.deepEqual(stack().host.machinesOf(id)[0]?.config.mounts, [{ volume: hostVolumeId ?? '', path: '/data' }]);
});

test.serial('an agent that has had a machine is never provisioned with an empty volume', async (t) => {
  const ada = await stack().user();
  const { id, hostAppName, hostMachineId, hostVolumeId } = await ada.anOnlineAgent();
  await atHost(stack(), 'DELETE', `/apps/${hostAppName}/machines/${hostMachineId}?force=true`);
  await stack().db('agents').update({ status: 'error', hostMachineId: null, hostVolumeId: null }).where({ id });
  await atHost(stack(), 'DELETE', `/apps/${hostAppName}/volumes/${hostVolumeId}`);
  const { body } = await ada.call('agents.provision', { id }, wait);
  t.like(body, { ok: false, agent: { status: 'error' }, job: { error: { code: 'conflict' } } });
  t.deepEqual(stack().host.volumes(hostAppName ?? ''), []);
});

test.serial('with a job under way a machine that moved is the job’s to find', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await stack().db('agents').update({ holderJobId: 'job_01jd0000000000000000000000' }).where({ id: agent.id });
  await moved(agent, [agent.hostAppName ?? '']);
  await aSweep(stack());
  t.like(await ada.agent(agent.id), { status: 'online', hostMachineId: agent.hostMachineId });
});
