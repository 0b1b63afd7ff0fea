import test, { type ExecutionContext } from 'ava';
import { newId } from '../../src/models/new-id.js';
import { aListingHost, type ListedMachine } from '../support/a-listing-host.js';
import { aPass, aSweep } from '../support/a-pass.js';
import { type Stack, startStack } from '../support/a-stack.js';
import { insertAgents, machineOf } from '../support/listed-agents.js';

const IN_SYD = 30;

/** Thirty agents in one region and then one in another, all of them seen; the host shows only their machines. */
const aFleet = async (t: ExecutionContext) => {
  const machines = Array.from({ length: IN_SYD + 1 }, (_, index) =>
    machineOf(newId('agent'), index, index < IN_SYD ? 'syd' : 'ams'),
  );
  const host = await aListingHost(machines);
  t.teardown(() => host.close());
  const stack = await startStack({ env: { HOST_API_URL: `${host.url}/v1` } });
  t.teardown(() => stack.close());
  const { userId } = await (await stack.user()).anAgent();
  await insertAgents(stack, userId, machines);
  t.like(await aPass(stack), { changed: 0, failed: 0, swept: true });
  return { host, stack, machines };
};

const stop = (machines: ListedMachine[]): void => {
  for (const machine of machines)
    Object.assign(machine, {
      state: 'stopped',
      updated_at: new Date(Date.now() + Number(machine.id.slice(1))).toISOString(),
    });
};

const agentOf = (machine: ListedMachine): string => machine.config.metadata['acp_agent_id'] ?? '';

const count = async ({ db }: Stack, where: object): Promise<number> =>
  Number((await db('agents').where(where).count('id as n').first())?.['n']);

test('a silent region costs a few looks a pass, and the agents of the others are seen', async (t) => {
  t.timeout(60_000);
  const { host, stack, machines } = await aFleet(t);
  stop(machines);
  host.silentRegions.add('syd');
  const looks = host.calls.looks;
  const first = await aPass(stack);
  t.log(JSON.stringify(first));
  t.is(await count(stack, { region: 'ams', status: 'error' }), 1, 'seen');
  t.is(await count(stack, { region: 'syd', status: 'online' }), IN_SYD, 'left as they were');
  t.like(first, { changed: 1, silentRegions: ['syd'] });
  t.is(first.failed + first.skipped, IN_SYD);
  t.true(host.calls.looks - looks <= 1 + 5 + 4, 'five failures, and what was under way then');
  const second = await aPass(stack);
  t.is(second.listed, 0, 'the watermark went on');
  t.is(second.failed + second.skipped, IN_SYD, 'they are owed a look');
  host.silentRegions.clear();
  t.like(await aPass(stack), { changed: IN_SYD, failed: 0, silentRegions: [] });
  t.is(await count(stack, { region: 'syd', status: 'error' }), IN_SYD);
  t.like(await aPass(stack), { hostCalls: 1, changed: 0 }, 'nothing is owed any more');
});

test('a pass begins with those that had no turn in the last one', async (t) => {
  t.timeout(60_000);
  const { host, stack, machines } = await aFleet(t);
  stop(machines);
  // A few machines for which the host never has an answer, in front of all the others of their region.
  for (const { id } of machines.slice(0, 8)) host.silentMachines.add(id);
  for (let passes = 0; passes < 4; passes++) t.log(JSON.stringify(await aPass(stack)));
  t.is(await count(stack, { status: 'error' }), machines.length - 8);
});

test('a sweep ends while a region is silent, and orphans are decided about', async (t) => {
  t.timeout(60_000);
  const { host, stack, machines } = await aFleet(t);
  stop(machines);
  host.silentRegions.add('syd');
  const report = await aSweep(stack);
  t.like(report, { swept: true, changed: 1, reaping: { known: 0 } });
  t.truthy((await stack.db('host_watermarks').first()).sweptAt);
});

test('an agent with two attached volumes holds nobody up, is seen, and gets neither of them', async (t) => {
  t.timeout(60_000);
  const { host, stack, machines } = await aFleet(t);
  const twelve = machines.slice(0, 12);
  for (const { id } of twelve) host.twoVolumes.add(id);
  await stack.db('agents').whereIn('id', twelve.map(agentOf)).update({ hostVolumeId: null });
  stop(machines);
  t.like(await aPass(stack), { changed: machines.length, failed: 0 });
  t.is(await count(stack, { status: 'error' }), machines.length);
  t.is(await count(stack, { region: 'syd', hostVolumeId: null }), 12);
});
