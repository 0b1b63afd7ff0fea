import test from 'ava';
import { aPass, passesUntil } from '../support/a-pass.js';
import { withStack } from '../support/a-stack.js';
import { atHost } from '../support/at-host.js';
import { appNameOf } from '../support/host-side.js';

const stack = withStack(test);
const status = async (ada: { agent(id: string): Promise<{ status: string }> }, id: string) =>
  (await ada.agent(id)).status;

test.afterEach.always(() => stack().host.clearFaults());

test.serial('a machine that restarts by itself: error while its gateway does not answer, then online', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  stack().host.fault({ match: { path: `/ingress/${appNameOf(id)}` }, mode: 'down' });
  await stack().host.killMachine(id, { restart: true });
  await passesUntil(stack(), async () => (await status(ada, id)) === 'error');
  t.like(await ada.agent(id), { desiredStatus: 'online', lastError: { code: 'machine_not_ready', jobId: null } });
  t.false((await ada.call('agents.status', { id })).body.gateway.ready);
  for (let passes = 0; passes < 2; passes++) await aPass(stack());
  t.is(await status(ada, id), 'error', 'as long as it does not answer');
  stack().host.clearFaults();
  await aPass(stack());
  t.like(await ada.agent(id), { status: 'online', lastError: null, activeJobId: null });
  const { gateway, machine } = (await ada.call('agents.status', { id })).body;
  t.true(gateway.ready);
  t.is(machine.state, 'started');
});

test.serial('a restart that is over when it is noticed changes nothing that the owner sees', async (t) => {
  const ada = await stack().user();
  const { id } = await ada.anOnlineAgent();
  await aPass(stack());
  const before = await ada.agent(id);
  await stack().host.killMachine(id, { restart: true });
  await stack()
    .host.killMachine(id, { restart: true })
    .catch(() => undefined);
  await passesUntil(stack(), async () => {
    const [machine] = stack().host.machinesOf(id, { state: 'started' });
    return machine !== undefined && (await status(ada, id)) === 'online';
  });
  t.like(await ada.agent(id), { status: 'online', lastError: null, hostMachineId: before.hostMachineId });
});

test.serial('a state that nobody has heard of is kept verbatim', async (t) => {
  const ada = await stack().user();
  const { id, hostMachineId, hostAppName } = await ada.anOnlineAgent();
  await aPass(stack());
  const answer = async (path: string, alter: (body: Record<string, unknown>) => unknown) =>
    stack().host.fault({
      match: { method: 'GET', path },
      mode: 'error-before',
      status: 200,
      times: 0,
      body: alter((await atHost(stack(), 'GET', path)) as Record<string, unknown>),
    });
  const strange = { state: 'hibernating', updated_at: new Date(Date.now() + 1_000).toISOString() };
  const machine = `/apps/${hostAppName}/machines/${hostMachineId}`;
  await answer(machine, (body) => ({ ...body, ...strange }));
  await answer('/orgs/acme/machines', (body) => ({
    ...body,
    next_cursor: null,
    machines: (body['machines'] as { id: string }[])
      .filter((one) => one.id === hostMachineId)
      .map((one) => ({ ...one, ...strange })),
  }));
  await aPass(stack());
  t.is((await ada.call('agents.status', { id })).body.machine.state, 'hibernating');
  t.is(await status(ada, id), 'online', 'its gateway answers, whatever the host calls it');
  stack().host.fault({ match: { path: `/ingress/${hostAppName}` }, mode: 'down' });
  await stack().db('agents').update({ machineSeenAt: null }).where({ id });
  await aPass(stack());
  t.like(await ada.agent(id), { status: 'error' });
  t.regex((await ada.agent(id)).lastError?.message ?? '', /hibernating/);
});
