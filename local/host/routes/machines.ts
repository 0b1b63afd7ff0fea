import { mkdir } from 'node:fs/promises';
import { machineId, versionId } from '../ids.js';
import { invalid, machineConfig, optionalNumber, optionalText, stopWith } from '../input.js';
import { checkLease, grantLease } from '../leases.js';
import {
  destroyMachine,
  launchMachine,
  replaceMachine,
  restartMachine,
  startMachine,
  stopMachine,
} from '../lifecycle.js';
import type { Machine } from '../machine.js';
import { page } from '../pages.js';
import { getApp, getVolume, type HostParts } from '../parts.js';
import type { AppRecord, MachineConfig, MachineRecord } from '../records.js';
import { Refusal } from '../refusal.js';
import { attachedTo, renderMachine } from '../render.js';
import type { Answer, Call, Routes } from '../server.js';

const PATH = '/v1/apps/:app/machines';

export function machineRoutes(parts: HostParts): Routes {
  const { store, fleet, effects, knobs } = parts;

  const create = async ({ params, body }: Call): Promise<Answer> => {
    const app = getApp(parts, params['app']);
    const config = machineConfig(body['config']);
    const id = machineId();
    const name = optionalText(body, 'name') ?? `machine-${id.slice(0, 6)}`;
    const region = optionalText(body, 'region') ?? mountRegion(app, config) ?? 'ams';
    const twin = app.machines.find((other) => other.name === name && other.state !== 'destroyed');
    if (twin !== undefined) {
      throw new Refusal(
        409,
        `already_exists: unique machine name violation, machine ID ${twin.id} already exists with name "${name}"`,
      );
    }
    checkMounts(app, config, region);
    if (knobs.fullRegions.includes(region))
      throw new Refusal(422, 'insufficient resources available', 'insufficient_capacity');
    const now = new Date().toISOString();
    const record: MachineRecord = {
      id,
      name,
      region,
      config,
      state: 'created',
      desired: body['skip_launch'] === true ? 'created' : 'started',
      version: versionId(),
      pastVersions: [],
      ...currentSecrets(app, body, knobs.secretsLagMs),
      createdAt: now,
      updatedAt: now,
      events: [],
    };
    app.machines.push(record);
    const machine = fleet.add(app, record);
    machine.become('created', { type: 'launch' });
    effects.append('machine.create', name, id);
    const ttl = optionalNumber(body, 'lease_ttl');
    const nonce = ttl === undefined ? null : grantLease(record, { ttlSeconds: ttl, description: '' }).nonce;
    await mkdir(store.machinePath(id), { recursive: true, mode: 0o700 });
    await store.save(app);
    const answer = { ...renderMachine(machine), nonce };
    launchMachine(machine);
    return { body: answer };
  };

  const list = ({ params, query }: Call): Answer => {
    const app = getApp(parts, params['app']);
    const wanted = [...query].filter(([key]) => key.startsWith('metadata.'));
    const region = query.get('region');
    const states = query.getAll('state').flatMap((value) => value.split(','));
    const keep = ({ config, state, ...record }: MachineRecord): boolean =>
      (state !== 'destroyed' || query.get('include_deleted') === 'true') &&
      (region === null || record.region === region) &&
      (states.length === 0 || states.includes(state)) &&
      wanted.every(([key, value]) => config.metadata?.[key.slice('metadata.'.length)] === value);
    const { items, headers } = page(app.machines, query);
    return { body: items.filter(keep).map((record) => renderMachine(fleet.of(record))), headers };
  };

  const update = async (machine: Machine, { body }: Call): Promise<Answer> => {
    const { app, record } = machine;
    const config = machineConfig(body['config']);
    const current = optionalText(body, 'current_version');
    if (current !== undefined && current !== record.version) {
      throw new Refusal(409, `aborted: current_version ${current} is stale, the machine is at ${record.version}`);
    }
    const mounted = (of: MachineConfig): string => JSON.stringify(of.mounts?.map(({ volume }) => volume) ?? []);
    if (mounted(config) !== mounted(record.config)) throw invalid('the mounted volume cannot be changed');
    replaceMachine(
      machine,
      {
        config,
        ...currentSecrets(app, body, knobs.secretsLagMs),
        skipLaunch: body['skip_launch'] === true,
        stopWith: stopWith({}, record.config),
      },
      effects,
    );
    await store.save(app);
    return { body: renderMachine(machine) };
  };

  const stop =
    (to: 'stopped' | 'suspended') =>
    async (machine: Machine, { body }: Call): Promise<Answer> => {
      stopMachine(machine, { ...stopWith(body, machine.record.config), to }, effects);
      await store.save(machine.app);
      return { body: { ok: true } };
    };

  const act =
    (verb: (machine: Machine, call: Call) => Promise<Answer>) =>
    async (call: Call): Promise<Answer> => {
      const machine = fleet.get(getApp(parts, call.params['app']), call.params['id'] ?? '');
      if (machine.record.isUnreachable) throw new Refusal(503, 'unavailable: the host of this machine is unreachable');
      checkLease(machine.record, call.request);
      return verb(machine, call);
    };

  return {
    [`POST ${PATH}`]: create,
    [`GET ${PATH}`]: list,
    [`GET ${PATH}/:id`]: ({ params }) => ({
      body: renderMachine(fleet.get(getApp(parts, params['app']), params['id'] ?? '')),
    }),
    [`POST ${PATH}/:id`]: act(update),
    [`POST ${PATH}/:id/start`]: act(async (machine) => {
      const previous = startMachine(machine, effects);
      await store.save(machine.app);
      return { body: { previous_state: previous, migrated: false, new_host: null } };
    }),
    [`POST ${PATH}/:id/stop`]: act(stop('stopped')),
    [`POST ${PATH}/:id/suspend`]: act(stop('suspended')),
    [`POST ${PATH}/:id/restart`]: act(async (machine, { query }) => {
      restartMachine(machine, stopWith(Object.fromEntries(query), machine.record.config), effects);
      await store.save(machine.app);
      return { body: { ok: true } };
    }),
    [`DELETE ${PATH}/:id`]: act(async (machine, { query }) => {
      const force = query.get('force') === 'true' || query.get('kill') === 'true';
      await destroyMachine(machine, { force }, effects);
      await store.save(machine.app);
      return { body: { ok: true } };
    }),
  };
}

/** @throws Refusal 422 when that version of the app's secrets is not there yet, or has not arrived here. */
function currentSecrets(
  app: AppRecord,
  body: Record<string, unknown>,
  lagMs: number,
): { secrets: Record<string, string>; secretsVersion: number } {
  const wanted = optionalNumber(body, 'min_secrets_version') ?? 0;
  const isHere = Date.now() - Date.parse(app.secretsSetAt ?? app.createdAt) >= lagMs;
  const known = isHere ? app.secretsVersion : app.secretsVersion - 1;
  if (wanted > known) {
    throw new Refusal(422, `min_secrets_version ${wanted} is newer than the app's secrets, at ${known}`);
  }
  const secrets = Object.entries(app.secrets).map(([name, { value }]) => [name, value] as const);
  return { secrets: Object.fromEntries(secrets), secretsVersion: app.secretsVersion };
}

function mountRegion(app: AppRecord, config: MachineConfig): string | undefined {
  return app.volumes.find(({ id }) => config.mounts?.[0]?.volume === id)?.region;
}

/** @throws Refusal when a mounted volume is absent, on its way out, elsewhere or taken. */
function checkMounts(app: AppRecord, config: MachineConfig, region: string): void {
  for (const { volume: id } of config.mounts ?? []) {
    const volume = getVolume(app, id);
    if (volume.state !== 'created') throw new Refusal(422, `volume ${id} is ${volume.state}`);
    if (volume.region !== region) throw new Refusal(422, `volume ${id} is in ${volume.region}, not in ${region}`);
    const holder = attachedTo(app, id);
    if (holder !== undefined)
      throw new Refusal(412, `failed_precondition: volume ${id} is attached to machine ${holder.id}`);
  }
}
