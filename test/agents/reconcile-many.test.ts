import test from 'ava';
import { newId } from '../../src/models/new-id.js';
import { aListingHost } from '../support/a-listing-host.js';
import { aPass } from '../support/a-pass.js';
import { type Stack, startStack } from '../support/a-stack.js';
import { insertAgents, machineOf } from '../support/listed-agents.js';

const AGENTS = 10_000;
const CHANGED = 200;

/** Counts the rows of agents that are written from now on. */
const countWrites = ({ db }: Stack): Promise<unknown> =>
  db.raw(`
    create sequence agent_writes;
    create function count_write() returns trigger language plpgsql as
      $$ begin perform nextval('agent_writes'); return null; end $$;
    create trigger count_write after update on agents for each row execute function count_write();
    select nextval('agent_writes');
  `);

const writes = async ({ db }: Stack): Promise<number> => Number((await db('agent_writes').first()).lastValue);

test(`${AGENTS} agents cost as many calls as the list has pages, and a write for each that changed`, async (t) => {
  t.timeout(120_000);
  const machines = Array.from({ length: AGENTS }, (_, index) => machineOf(newId('agent'), index));
  const host = await aListingHost(machines);
  t.teardown(() => host.close());
  const stack = await startStack({ env: { HOST_API_URL: `${host.url}/v1` } });
  t.teardown(() => stack.close());
  const { userId } = await (await stack.user()).anAgent();
  await insertAgents(stack, userId, machines);
  await countWrites(stack);

  const measured = async (what: string) => {
    const [began, before, lists, looks] = [Date.now(), await writes(stack), host.calls.lists, host.calls.looks];
    const report = await aPass(stack);
    const cost = {
      lists: host.calls.lists - lists,
      looks: host.calls.looks - looks,
      writes: (await writes(stack)) - before,
    };
    t.log(`${what}: ${Date.now() - began} ms, ${JSON.stringify({ ...cost, changed: report.changed })}`);
    return { ...cost, changed: report.changed };
  };

  t.deepEqual(await measured('all of it'), { lists: 40, looks: 0, writes: 0, changed: 0 });
  t.deepEqual(await measured('nothing new'), { lists: 1, looks: 0, writes: 0, changed: 0 });
  for (const machine of machines.slice(0, CHANGED))
    Object.assign(machine, { state: 'stopped', updated_at: new Date().toISOString() });
  t.deepEqual(await measured(`${CHANGED} stopped`), { lists: 1, looks: CHANGED, writes: CHANGED, changed: CHANGED });
  // Everything moves at once, as after maintenance: looks stay bounded, and the next passes go on with the rest.
  for (const machine of machines) Object.assign(machine, { state: 'suspended', updated_at: new Date().toISOString() });
  const pages = AGENTS / 500;
  t.deepEqual(await measured('all changed'), { lists: pages, looks: 300, writes: 300, changed: 300 });
  t.deepEqual(await measured('and the next'), { lists: pages, looks: 300, writes: 300, changed: 300 });
});
