import type { Fault, FaultMode } from '../../local/faults.js';
import { appNameOf } from '../support/host-side.js';

/** The verb that surely leads to a call. */
export type Route = 'provision' | 'start' | 'stop' | 'delete' | 'reconcile';

interface HostCall {
  route: Route;
  method: 'GET' | 'POST' | 'DELETE';
  /** Of the request, given the name of the agent's app. */
  path(app: string): string;
  /** The name of a new app is in the body alone. */
  namedInBody?: true;
  /** What may be done to this call; a mode named twice is met twice as often. */
  modes: readonly SimulatedMode[];
}

/** The modes of the stand-in, and a refusal for lack of room, which is an error-before that no retry mends. */
export type SimulatedMode = Exclude<FaultMode, 'down'> | 'capacity';

const effectModes = [
  'error-before',
  'error-after',
  'reset-after',
  'delay',
  'delay',
  'rate-limit',
  'malformed',
  'twice',
] as const satisfies SimulatedMode[];
const lookModes = [
  'error-before',
  'reset-after',
  'delay',
  'rate-limit',
  'malformed',
] as const satisfies SimulatedMode[];

/** The calls of the product at the host that faults are planned for. */
export const hostCalls = {
  'app.look': { route: 'provision', method: 'GET', path: (app) => `/v1/apps/${app}$`, modes: lookModes },
  'app.create': {
    route: 'provision',
    method: 'POST',
    path: () => '/v1/apps$',
    namedInBody: true,
    modes: [...effectModes, 'timeout-after'],
  },
  'volume.list': { route: 'provision', method: 'GET', path: (app) => `/apps/${app}/volumes$`, modes: lookModes },
  'volume.create': {
    route: 'provision',
    method: 'POST',
    path: (app) => `/apps/${app}/volumes$`,
    modes: [...effectModes, 'twice', 'twice', 'timeout-after', 'capacity', 'capacity'],
  },
  /** Of the second of two volumes: nothing else of a provision that succeeds deletes one. */
  'volume.delete': { route: 'provision', method: 'DELETE', path: (app) => `/apps/${app}/volumes/[^/]+$`, modes: [] },
  'secrets.set': {
    route: 'start',
    method: 'POST',
    path: (app) => `/apps/${app}/secrets$`,
    modes: [...effectModes, 'timeout-after'],
  },
  'machine.list': { route: 'provision', method: 'GET', path: (app) => `/apps/${app}/machines$`, modes: lookModes },
  'machine.create': {
    route: 'provision',
    method: 'POST',
    path: (app) => `/apps/${app}/machines$`,
    modes: [...effectModes, ...effectModes, 'timeout-after', 'capacity', 'capacity'],
  },
  'machine.look': { route: 'start', method: 'GET', path: (app) => `/apps/${app}/machines/[^/]+$`, modes: lookModes },
  'machine.update': {
    route: 'start',
    method: 'POST',
    path: (app) => `/apps/${app}/machines/[^/]+$`,
    modes: effectModes,
  },
  'machine.start': {
    route: 'start',
    method: 'POST',
    path: (app) => `/apps/${app}/machines/[^/]+/start$`,
    modes: [...effectModes, 'timeout-after'],
  },
  gateway: {
    route: 'start',
    method: 'GET',
    path: (app) => `/ingress/${app}/readyz$`,
    modes: ['error-before', 'delay'],
  },
  'machine.stop': {
    route: 'stop',
    method: 'POST',
    path: (app) => `/apps/${app}/machines/[^/]+/stop$`,
    modes: [...effectModes, 'timeout-after'],
  },
  'machine.delete': {
    route: 'delete',
    method: 'DELETE',
    path: (app) => `/apps/${app}/machines/[^/]+$`,
    modes: [...effectModes, 'timeout-after'],
  },
  'app.delete': {
    route: 'delete',
    method: 'DELETE',
    path: (app) => `/v1/apps/${app}$`,
    modes: [...effectModes, 'timeout-after'],
  },
  'org.list': { route: 'reconcile', method: 'GET', path: () => '/v1/orgs/acme/machines$', modes: lookModes },
} as const satisfies Record<string, HostCall>;

export type HostCallName = keyof typeof hostCalls;

/** Those that faults are planned for. */
export const hostCallNames = (Object.keys(hostCalls) as HostCallName[]) // the keys of the record above
  .filter((name) => hostCalls[name].modes.length > 0);

export const hostCall = (name: HostCallName): HostCall => hostCalls[name];

export interface PlannedFault {
  call: HostCallName;
  mode: SimulatedMode;
  times: number;
  delayMs?: number;
  retryAfter?: number;
  status?: number;
  /** Waits beside it and is not counted: a call that only this fault leads to. */
  also?: PlannedFault;
}

/** The fault as the stand-in takes it, at the calls for this agent. */
export const faultAt = ({ call, mode, also: _also, ...rest }: PlannedFault, agentId: string): Fault => {
  const { method, path, namedInBody } = hostCall(call);
  const app = appNameOf(agentId);
  const match = { method, path: `/${path(app)}/`, ...(namedInBody ? { body: `"${app}"` } : {}) };
  if (mode !== 'capacity') return { ...rest, match, mode };
  return {
    ...rest,
    match,
    mode: 'error-before',
    status: 422,
    body: { error: 'no room', status: 'insufficient_capacity' },
  };
};
