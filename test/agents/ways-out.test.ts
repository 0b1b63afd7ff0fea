import test from 'ava';
import { withStack } from '../support/a-stack.js';

const stack = withStack(test);
const wait = { headers: { prefer: 'wait=60' } };
const appOf = (id: string): string => `acp-test-${id.replace('agt_', '')}`;

test('a host that is busy while a provision is undone does not leave the machine running', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  stack().host.fault({ match: { path: `/ingress/${appOf(id)}` }, mode: 'down', times: 0 });
  const { body } = await ada.call('agents.provision', { id });
  while ((await ada.call('jobs.get', { id: body.job.id })).body.step !== 'wait until it is ready')
    await new Promise((resolve) => setTimeout(resolve, 50));
  stack().host.fault({ match: { path: `/${appOf(id)}.*stop$/` }, mode: 'error-before', status: 412, times: 1 });
  await ada.call('jobs.cancel', { id: body.job.id });
  const job = await ada.finished(body.job);
  t.is(job.status, 'canceled', JSON.stringify(job));
  t.deepEqual(stack().host.machinesOf(id, { state: 'started' }), []);
  t.is((await ada.agent(id)).status, 'offline');
});

test('a machine that vanished is replaced by a start, with the volume that holds the data', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id: agent.id }, wait);
  const machine = `${stack().host.url}/v1/apps/${agent.hostAppName}/machines/${agent.hostMachineId}?force=true`;
  await fetch(machine, { method: 'DELETE', headers: { authorization: `Bearer ${stack().env['HOST_API_TOKEN']}` } });
  const { body } = await ada.call('agents.start', { id: agent.id }, wait);
  t.like(body, { ok: true, agent: { status: 'online', hostVolumeId: agent.hostVolumeId } }, JSON.stringify(body.job));
  t.not(body.agent.hostMachineId, agent.hostMachineId);
  t.is(stack().host.machinesOf(agent.id).length, 1);
});

test('a machine is never replaced while its volume cannot be found', async (t) => {
  const ada = await stack().user();
  const agent = await ada.anOnlineAgent();
  await ada.call('agents.stop', { id: agent.id }, wait);
  const as = { headers: { authorization: `Bearer ${stack().env['HOST_API_TOKEN']}` } };
  const base = `${stack().host.url}/v1/apps/${agent.hostAppName}`;
  await fetch(`${base}/machines/${agent.hostMachineId}?force=true`, { method: 'DELETE', ...as });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const gone = await fetch(`${base}/volumes/${agent.hostVolumeId}`, { method: 'DELETE', ...as });
  t.is(gone.status, 200);
  const { body } = await ada.call('agents.start', { id: agent.id }, wait);
  t.like(body, { ok: false, agent: { status: 'error' }, job: { error: { code: 'conflict' } } });
  t.is(stack().host.machinesOf(agent.id).length, 0);
  t.is((await ada.call('agents.delete', { id: agent.id }, wait)).body.ok, true);
});

test('what is being canceled is not joined', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anAgent();
  stack().host.fault({ match: { path: `/${appOf(id)}.*secrets$/` }, mode: 'delay', delayMs: 1_500, times: 1 });
  const { body } = await ada.call('agents.provision', { id });
  while ((await ada.agent(id)).hostVolumeId === null) await new Promise((resolve) => setTimeout(resolve, 20));
  await ada.call('jobs.cancel', { id: body.job.id });
  const again = await ada.call('agents.provision', { id });
  if (again.status === 409) t.is(again.body.job.id, body.job.id);
  else t.not(again.body.job.id, body.job.id, 'it had ended before');
  t.is((await ada.finished(body.job)).status, 'canceled');
});

for (const status of [409, 422])
  test(`a create that the host did and then refused with ${status} is found, not repeated`, async (t) => {
    const ada = await stack().user();
    const { id } = await ada.anAgent();
    for (const path of [`/${appOf(id)}.*volumes$/`, `/${appOf(id)}.*machines$/`])
      stack().host.fault({ match: { method: 'POST', path }, mode: 'error-after', status, times: 1 });
    const { body } = await ada.call('agents.provision', { id }, wait);
    t.is(body.agent.status, 'online', JSON.stringify(body.job));
    t.is(stack().host.machinesOf(id).length, 1);
    t.is(stack().host.volumes(appOf(id)).length, 1);
  });

test('a rotation of an agent in error goes to its machine, not past it', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await stack().db('agents').update({ status: 'error' }).where({ id });
  const { status, body } = await ada.call('agents.rotate-gateway-token', { id });
  t.is(status, 202);
  t.is((await ada.finished(body.job)).status, 'succeeded');
});
