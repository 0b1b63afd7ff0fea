import { mkdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AddedFault, makeFaults, type Fault, type InjectedFault } from '../faults.js';
import { openEffectLog, type Effect } from './effect-log.js';
import { openFleet } from './fleet.js';
import { isIngress, proxyToMachine } from './ingress.js';
import { calm, type Knobs } from './knobs.js';
import type { Machine, Pace } from './machine.js';
import type { HostParts } from './parts.js';
import { makeRateLimits } from './rate-limits.js';
import type { MachineRecord, MachineState } from './records.js';
import { renderMachine, renderVolume } from './render.js';
import { appRoutes } from './routes/apps.js';
import { controlRoutes, killAll, machinesOf } from './routes/control.js';
import { machineExtraRoutes } from './routes/machine-extras.js';
import { machineRoutes } from './routes/machines.js';
import { orgRoutes } from './routes/orgs.js';
import { volumeRoutes } from './routes/volumes.js';
import { makeResponder } from './server.js';
import { openStore } from './store.js';

export interface HostOptions {
  /** 0 takes a free one. */
  port: number;
  /** Holds the state, the volumes and the effect log; two stand-ins never share one. */
  dir: string;
  token: string;
  org: string;
  runtimeEntry?: string;
  pace?: Partial<Pace>;
  log?: (message: string) => void;
}

/** A machine as the API shows it, plus the app it belongs to. */
export interface ShownMachine extends Pick<
  MachineRecord,
  'id' | 'name' | 'state' | 'region' | 'version' | 'config' | 'events'
> {
  app_name: string;
  [field: string]: unknown;
}

export interface HostStandIn {
  /** Without a path; the API is below `/v1`, an app's public side at `/ingress/<app>`. */
  url: string;
  /** Ends every machine in order; the next stand-in on the same folder boots them again. */
  close(): Promise<void>;
  effects(): Effect[];
  /** @throws Error for a fault that makes no sense. */
  fault(fault: Fault): AddedFault;
  faults(): InjectedFault[];
  clearFaults(): void;
  knobs: Knobs;
  /** The machines of an agent that are not destroyed. */
  machinesOf(agentId: string, filter?: { state?: MachineState }): ShownMachine[];
  /** All volumes that were not deleted, of one app or of all. */
  volumes(app?: string): Record<string, unknown>[];
  /** Kills the process of a machine (given by its id, its name or its agent's id). It stays stopped unless `restart`. */
  killMachine(key: string, how?: { restart?: boolean }): Promise<string[]>;
}

const pace: Pace = { bootMs: 40, swapMs: 60, destroyedShowsMs: 250 };
const besideUs = fileURLToPath(new URL('../runtime/main.js', import.meta.url));

/** Starts the stand-in on loopback and boots the machines that its folder remembers as started. */
export async function startHost(options: HostOptions): Promise<HostStandIn> {
  const dir = resolve(options.dir); // machines run in other folders
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const server = createServer();
  const faults = makeFaults();
  // The port is taken before anything is touched: a second stand-in must not end the first one's machines.
  await listen(server, options.port);
  const opening = openParts(options, dir).then((parts) => ({
    parts,
    respond: makeListener(parts, faults, options.token),
  }));
  let isClosing = false;
  server.on('request', (request, response) => {
    if (isClosing) return void response.destroy(); // on a connection kept from before
    opening.then(({ respond }) => respond(request, response)).catch(() => response.destroy());
  });
  const { parts } = await opening.catch((error: unknown) => {
    server.close();
    server.closeAllConnections();
    throw error;
  });
  const { store, fleet, effects } = parts;

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // listening on a port
    async close() {
      isClosing = true;
      server.close();
      await fleet.close();
      server.closeAllConnections();
      await Promise.all(store.apps().map((app) => store.save(app)));
    },
    effects: () => effects.all(),
    fault: (fault) => faults.add(fault),
    faults: () => faults.list(),
    clearFaults: () => faults.clear(),
    knobs: parts.knobs,
    machinesOf: (agentId, filter) =>
      machinesOf(fleet.all(), agentId)
        .filter(({ record }) => record.state === (filter?.state ?? record.state))
        .map(shown),
    volumes: (name) =>
      store
        .apps()
        .filter((app) => app.name === (name ?? app.name))
        .flatMap((app) =>
          app.volumes.filter(({ state }) => state === 'created').map((volume) => renderVolume(app, volume)),
        ),
    killMachine: (key, how) => killAll(fleet.all(), key, { restart: how?.restart ?? false }),
  };
}

async function openParts(options: HostOptions, dir: string): Promise<HostParts> {
  const store = openStore(dir);
  const effects = openEffectLog(join(dir, 'effects.ndjson'));
  const fleet = await openFleet({
    store,
    runtimeEntry: resolve(options.runtimeEntry ?? besideUs),
    pace: { ...pace, ...options.pace },
    log: options.log ?? (() => undefined),
  });
  return { store, fleet, effects, knobs: structuredClone(calm), org: options.org };
}

function shown(machine: Machine): ShownMachine {
  const { id, name, state, region, version, config, events } = structuredClone(machine.record);
  const typed = { id, name, state, region, version, config, events };
  return { ...renderMachine(machine), ...typed, app_name: machine.app.name };
}

/** Control routes are beyond the reach of faults; a fault reaches the ingress only by naming its path. */
function makeListener(
  parts: HostParts,
  faults: ReturnType<typeof makeFaults>,
  token: string,
): (request: IncomingMessage, response: ServerResponse) => void {
  const limit = makeRateLimits();
  const control = makeResponder(controlRoutes(parts, faults), token);
  const api = makeResponder(
    {
      ...appRoutes(parts),
      ...machineRoutes(parts),
      ...machineExtraRoutes(parts),
      ...volumeRoutes(parts),
      ...orgRoutes(parts),
    },
    token,
    (request) => parts.knobs.rateLimits && limit(request),
  );
  const respond = (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.url?.startsWith('/_/')) return control(request, response);
    if (!isIngress(request)) return faults.around(request, response, () => api(request, response));
    const proxy = (): Promise<void> => proxyToMachine(parts.fleet, request, response);
    return faults.around(request, response, proxy, { namedOnly: true });
  };
  return (request, response) => {
    response.on('error', () => undefined); // the caller left
    respond(request, response).catch((error: unknown) => {
      console.error(error); // a fault of the stand-in itself
      response.destroy();
    });
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
