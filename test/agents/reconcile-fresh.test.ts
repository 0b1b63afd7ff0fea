import test from 'ava';
import type { ACaller } from '../support/a-caller.js';
import { newId } from '../../src/models/new-id.js';
import { aPass } from '../support/a-pass.js';
import { withStack } from '../support/a-stack.js';
import { appNameOf } from '../support/host-side.js';
import { until } from '../support/until.js';

const stack = withStack(test);

const grownOld = (id: string): Promise<unknown> =>
  stack()
    .db('agents')
    .where({ id })
    .update({ machineSeenAt: stack().db.raw(`now() - interval '6 minutes'`) });

/** An agent online whose machine's own check has noticed by now. */
const aCheckedAgent = async (ada: ACaller): Promise<string> => {
  const { id } = await ada.anOnlineAgent();
  const isPassing = () => {
    const [machine] = stack().host.machinesOf(id);
    const checks = (machine?.['checks'] ?? []) as { status: string }[]; // as the host renders them
    return checks[0]?.status === 'passing';
  };
  await until('the check passes', isPassing);
  await aPass(stack());
  return id;
};

test.serial(
  'checks and gateway of a machine of which no list tells are looked at anew after five minutes',
  async (t) => {
    const ada = await stack().user();
    const id = await aCheckedAgent(ada);
    const old = { name: 'ready', status: 'critical', output: 'as it was' };
    const row = await stack().db('agents').where({ id }).first();
    await stack()
      .db('agents')
      .where({ id })
      .update({ machine: { ...row.machine, checks: [old] } });
    const idle = await aPass(stack());
    const checks = async () => (await ada.call('agents.status', { id })).body.machine.checks as { status: string }[];
    t.like(idle, { hostCalls: 1, listed: 0 });
    t.like(await checks(), [old], 'not yet');
    await grownOld(id);
    const report = await aPass(stack());
    t.like(report, { hostCalls: 2, changed: 1 });
    t.like(await checks(), [{ name: 'ready', status: 'passing' }]);
  },
);

test.serial(
  'a gateway that hangs is noticed though the host sees nothing, and noticed again when it answers',
  async (t) => {
    const ada = await stack().user();
    const id = await aCheckedAgent(ada);
    stack().host.fault({ match: { path: `/ingress/${appNameOf(id)}` }, mode: 'error-before', status: 503, times: 0 });
    await grownOld(id);
    await aPass(stack());
    t.is((await ada.agent(id)).status, 'error');
    stack().host.clearFaults();
    await aPass(stack());
    t.is((await ada.agent(id)).status, 'online');
  },
);

test.serial('one gateway that misses a single question is not an error', async (t) => {
  const ada = await stack().user();
  const id = await aCheckedAgent(ada);
  stack().host.fault({ match: { path: `/ingress/${appNameOf(id)}` }, mode: 'error-before', status: 503, times: 1 });
  await grownOld(id);
  const { updatedAt } = await ada.agent(id);
  await aPass(stack());
  t.like(await ada.agent(id), { status: 'online', updatedAt });
});

test.serial('however many machines are due, a pass looks at twenty, those longest unseen first', async (t) => {
  const ada = await stack().user();
  const { userId } = await ada.anAgent();
  const machine = { id: 'm', state: 'started', region: 'ams', createdAt: null, checks: [] };
  const rows = Array.from({ length: 50 }, (_, i) => {
    const id = newId('agent');
    const host = {
      hostName: appNameOf(id),
      hostAppName: appNameOf(id),
      hostMachineId: `m${i}`,
      provisionedAt: new Date(),
    };
    const machineSeenAt = new Date(Date.now() - 3_600_000 - i * 1_000);
    return {
      id,
      userId,
      name: 'x',
      plan: 'free',
      status: 'online',
      desiredStatus: 'online',
      machine,
      machineSeenAt,
      ...host,
    };
  });
  await stack().db('agents').insert(rows);
  const report = await aPass(stack());
  t.like(report, { hostCalls: 1 + 20 * 2, changed: 20 }, 'the machine, which is gone, and the app, for another one');
  const seen = await stack().db('agents').where({ userId, status: 'error' }).orderBy('id').pluck('id');
  t.deepEqual(
    seen,
    rows.slice(30).map(({ id }) => id),
  );
  t.like(await aPass(stack()), { changed: 20 });
  t.like(await aPass(stack()), { changed: 10 });
});

test.serial('a machine that cannot be looked at keeps nobody else from being seen', async (t) => {
  const ada = await stack().user();
  const [bad, good] = [await ada.anOnlineAgent(), await ada.anOnlineAgent()];
  await stack().host.killMachine(bad.id, { restart: false });
  await stack().host.killMachine(good.id, { restart: false });
  stack().host.fault({ match: { method: 'GET', path: `/apps/${bad.hostAppName}/` }, mode: 'error-before', times: 0 });
  await aPass(stack());
  t.is((await ada.agent(good.id)).status, 'error');
  t.is((await ada.agent(bad.id)).status, 'online', 'nothing is known of it');
  stack().host.clearFaults();
  const { machineSeenAt } = await stack().db('agents').where({ id: bad.id }).first();
  t.true(machineSeenAt < new Date(Date.now() - 4 * 60_000), 'it is due again soon');
  await grownOld(bad.id);
  await aPass(stack());
  t.is((await ada.agent(bad.id)).status, 'error');
});
