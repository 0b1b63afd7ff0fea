import { rm } from 'node:fs/promises';
import type { Faults } from '../../faults.js';
import { invalid } from '../input.js';
import { killMachine } from '../lifecycle.js';
import type { Machine } from '../machine.js';
import type { HostParts } from '../parts.js';
import { Refusal } from '../refusal.js';
import { renderMachine } from '../render.js';
import type { Routes } from '../server.js';

/** What the real host has not: the levers of tests and of `npm run world`. */
export function controlRoutes(parts: HostParts, faults: Faults): Routes {
  const { fleet, effects, knobs, store } = parts;
  return {
    'GET /_/effects': () => ({
      body: effects
        .all()
        .map((effect) => `${JSON.stringify(effect)}\n`)
        .join(''),
      headers: { 'content-type': 'application/x-ndjson' },
    }),
    'GET /_/faults': () => ({ body: { faults: faults.list() } }),
    'POST /_/faults': ({ body }) => {
      try {
        faults.add(body);
      } catch (error) {
        throw invalid(error instanceof Error ? error.message : 'not a fault');
      }
      return { status: 201, body: { ok: true } };
    },
    'DELETE /_/faults': () => {
      faults.clear();
      return { body: { ok: true } };
    },
    'GET /_/knobs': () => ({ body: knobs }),
    'POST /_/knobs': ({ body }) => {
      for (const key of Object.keys(body)) if (!(key in knobs)) throw invalid(`unknown knob ${key}`);
      return { body: Object.assign(knobs, body) };
    },
    'GET /_/machines': ({ query }) => {
      const agentId = query.get('agentId');
      const machines = agentId === null ? fleet.all() : machinesOf(fleet.all(), agentId);
      return {
        body: {
          machines: machines.map((machine) => ({
            ...renderMachine(machine),
            app_name: machine.app.name,
            pid: machine.record.process?.pid ?? null,
          })),
        },
      };
    },
    'POST /_/machines/:id/kill': async ({ params, body }) => {
      const killed = await killAll(fleet.all(), params['id'] ?? '', {
        restart: body['restart'] === true,
      });
      return { body: { ok: true, killed } };
    },
    'POST /_/machines/:id/unreachable': async ({ params, body }) => {
      for (const { app, record } of machinesOf(fleet.all(), params['id'] ?? '')) {
        record.isUnreachable = body['unreachable'] !== false;
        await store.save(app);
      }
      return { body: { ok: true } };
    },
    'POST /_/volumes/:id/lose': async ({ params }) => {
      const id = params['id'] ?? '';
      const app = store.apps().find(({ volumes }) => volumes.some((volume) => volume.id === id));
      if (app === undefined) throw new Refusal(404, 'volume not found');
      app.volumes = app.volumes.filter((volume) => volume.id !== id);
      await rm(store.volumePath(id), { recursive: true, force: true });
      await store.save(app);
      return { body: { ok: true } };
    },
  };
}

/** The machines of an agent, found by tag or environment; a machine's own id and name do as well. */
export function machinesOf(machines: Machine[], key: string): Machine[] {
  return machines.filter(
    ({ record: { id, name, config, state } }) =>
      state !== 'destroyed' &&
      (id === key ||
        name === key ||
        config.env?.['ACP_AGENT_ID'] === key ||
        Object.values(config.metadata ?? {}).includes(key)),
  );
}

/** @throws Refusal 404 when there is no such machine. Returns the ids of the machines that lost power. */
export async function killAll(machines: Machine[], key: string, how: { restart: boolean }): Promise<string[]> {
  const found = machinesOf(machines, key);
  if (found.length === 0) throw new Refusal(404, `no machine of ${key}`);
  await Promise.all(found.map((machine) => killMachine(machine, how)));
  return found.map(({ record }) => record.id);
}
