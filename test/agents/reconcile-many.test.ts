import { Client, Connection } from '@temporalio/client';
import test from 'ava';
import type { Db } from '../../src/db/knex.js';
import { newId } from '../../src/models/new-id.js';
import { aListingHost, type ListedMachine } from '../support/a-listing-host.js';
import { startStack } from '../support/a-stack.js';
import { countWrites } from '../support/counted-writes.js';

const AGENTS = 10_000;
const CHANGED = 100;
const PAGE = 500;
const PAGES = AGENTS / PAGE;

const REGION = 'ams';
const createdAt = '2026-01-01T00:00:00.000Z';

const aMachine = (agentId: string, index: number): ListedMachine => ({
  id: `m${index}`,
  app_name: `app-${agentId}`,
  state: 'started',
  region: REGION,
  created_at: createdAt,
  updated_at: createdAt,
  config: { metadata: { acp_installation: 'test', acp_agent_id: agentId } },
});

/** Agents that are online, as their provisions left them. */
const seedAgents = async (db: Db, userId: string): Promise<Map<string, ListedMachine>> => {
  const machines = new Map<string, ListedMachine>();
  for (let done = 0; done < AGENTS; done += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, index) => {
      const id = newId('agent');
      const machine = aMachine(id, done + index);
      machines.set(machine.id, machine);
      const snapshot = { id: machine.id, state: machine.state, region: REGION, createdAt, checks: [] };
      return {
        id,
        userId,
        name: 'one of many',
        plan: 'free',
        status: 'online',
        desiredStatus: 'online',
        hostName: machine.app_name,
        hostAppName: machine.app_name,
        hostMachineId: machine.id,
        provisionedAt: new Date(),
        machine: JSON.stringify(snapshot),
        region: REGION,
      };
    });
    await db('agents').insert(rows);
  }
  await db.raw('analyze agents');
  return machines;
};

test('10 000 agents are reconciled by list calls, with one write an agent that changed and none for the others', async (t) => {
  t.timeout(180_000);
  const machines = new Map<string, ListedMachine>();
  const host = await aListingHost('acme', machines);
  t.teardown(() => host.close());
  const stack = await startStack({
    workers: ['control', 'host-background'],
    env: { HOST_API_URL: `${host.url}/v1` },
  });
  t.teardown(() => stack.close());
  const ada = await stack.user();
  const { id: userId } = (await ada.call('users.me')).body as { id: string };
  for (const [id, machine] of await seedAgents(stack.db, userId)) machines.set(id, machine);
  const writes = await countWrites(stack.db);
  const connection = await Connection.connect({ address: stack.env['TEMPORAL_ADDRESS'] ?? '' });
  t.teardown(() => connection.close());
  const prefix = stack.env['TEMPORAL_QUEUE_PREFIX'] ?? '';

  const pass = async (title: string) => {
    host.forgetCalls();
    await writes.take();
    const began = Date.now();
    await new Client({ connection }).workflow.execute('reconcileHost', {
      workflowId: `${prefix}${title}`,
      taskQueue: `${prefix}control`,
    });
    const ms = Date.now() - began;
    const calls = { ...host.calls };
    const written = await writes.take();
    t.log(
      `${title}: ${calls.lists} list calls, ${calls.looks} looks, rows written ${JSON.stringify(written)}, ${ms} ms`,
    );
    t.deepEqual(calls.others, []);
    return { lists: calls.lists, looks: calls.looks, agents: written['agents'] ?? 0, written };
  };
  const statuses = async (): Promise<Record<string, number>> => {
    const rows = await stack
      .db('agents')
      .select('status')
      .count<{ status: string; count: number }[]>()
      .groupBy('status');
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  };
  const watermarkOnly = { host_watermarks: 1 };

  const first = await pass('the first pass, over all');
  t.like(first, { lists: PAGES, looks: 0, written: watermarkOnly });

  const quiet = await pass('a pass where nothing changed');
  t.like(quiet, { lists: 1, looks: 0, written: watermarkOnly });

  const stopped = [...machines.values()].slice(0, CHANGED);
  for (const machine of stopped) Object.assign(machine, { state: 'stopped', updated_at: new Date().toISOString() });
  const few = await pass('a pass where 100 machines stopped');
  t.like(few, { lists: 1, looks: CHANGED, agents: CHANGED });
  t.deepEqual(few.written, { agents: CHANGED, ...watermarkOnly });
  t.deepEqual(await statuses(), { error: CHANGED, online: AGENTS - CHANGED });

  t.like(await pass('the pass after it'), { lists: 1, looks: 0, written: watermarkOnly });

  // What never shows up as a change: found by the full pass alone.
  for (const { id } of [...machines.values()].slice(CHANGED, 2 * CHANGED)) machines.delete(id);
  await stack.db('host_watermarks').update({ sweptAt: new Date(0) });
  const full = await pass('a full pass where 100 machines vanished');
  t.like(full, { lists: PAGES, looks: CHANGED, agents: CHANGED });
  t.deepEqual(await statuses(), { error: 2 * CHANGED, online: AGENTS - 2 * CHANGED });
});
