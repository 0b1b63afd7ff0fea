import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { startHost, type HostOptions, type HostStandIn } from '../../local/host/host.js';
import { aControlPlane, type FakeControlPlane } from './a-control-plane.js';

export interface Answered {
  status: number;
  // what a test reads of an answer is what it asserts
  body: any; // oxlint-disable-line typescript/no-explicit-any
  headers: Headers;
}

export type Api = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answered>;

export interface HostAtHand {
  host: HostStandIn;
  api: Api;
  controlPlane: FakeControlPlane;
  dir: string;
}

export const TOKEN = 'host-token';
export const ORG = 'acme';

export async function aFolder(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'acp-test-'));
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}

/** A stand-in of its own for the test, gone after it, and a control plane its machines can reach. */
export async function aHost(t: ExecutionContext, options: Partial<HostOptions> = {}): Promise<HostAtHand> {
  const dir = options.dir ?? (await aFolder(t));
  const controlPlane = await aControlPlane(t);
  const host = await startHost({ port: 0, dir, token: TOKEN, org: ORG, ...options });
  t.teardown(() => host.close());
  return { host, dir, controlPlane, api: apiOf(host.url) };
}

export function apiOf(url: string): Api {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parsed(text) };
  };
}

/** The config of a machine whose runtime reports to the test's control plane. */
export function aConfig(controlPlane: FakeControlPlane, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    image: 'registry.example/runtime:1.0.0',
    env: {
      ACP_URL: controlPlane.url,
      ACP_AGENT_ID: 'agt_one',
      ACP_RUNTIME_ID: 'rt_one',
      ACP_RUNTIME_VERSION: '1.0.0',
      ACP_STATE_DIR: '/data/acp',
    },
    metadata: { agentId: 'agt_one', installation: 'test' },
    ...more,
  };
}

export interface Made {
  path: string;
  id: string;
  version: string;
  volumeId: string;
}

/** App, volume, secrets and machine `app`; started unless the request says `skip_launch`. */
export async function aMachine(
  { api, controlPlane }: HostAtHand,
  app = 'app-one',
  more: { config?: Record<string, unknown>; request?: Record<string, unknown> } = {},
): Promise<Made> {
  await api('POST', '/v1/apps', { name: app, org_slug: ORG });
  const { body: volume } = await api('POST', `/v1/apps/${app}/volumes`, {
    name: 'data',
    region: 'ams',
    size_gb: 1,
  });
  const secrets = {
    values: { ACP_BOOTSTRAP_TOKEN: 'secret-boot-1', ACP_GATEWAY_TOKEN: 'secret-gateway-1' },
  };
  const { body: set } = await api('POST', `/v1/apps/${app}/secrets`, secrets);
  const mounts = [{ volume: volume.id, path: '/data' }];
  const { body: machine } = await api('POST', `/v1/apps/${app}/machines`, {
    name: 'machine-one',
    region: 'ams',
    min_secrets_version: set.version,
    config: aConfig(controlPlane, { mounts, ...more.config }),
    ...more.request,
  });
  const path = `/v1/apps/${app}/machines/${machine.id}`;
  if (more.request?.['skip_launch'] !== true) await api('GET', `${path}/wait?state=settled&timeout=10`);
  return { path, id: machine.id, version: machine.version, volumeId: volume.id };
}

/** Asks until the answer satisfies, for ten seconds at most. */
export async function until<T>(ask: () => Promise<T> | T, isGood: (value: T) => boolean): Promise<T> {
  const end = Date.now() + 10_000;
  for (;;) {
    const value = await ask();
    if (isGood(value)) return value;
    if (Date.now() > end) throw new Error(`still not so after 10 s: ${JSON.stringify(value)}`);
    await sleep(20);
  }
}

/** True while a process of that id runs; a negative id asks for a group. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
