import { postgresLaunch } from '../postgres/start.js';
import type { Launch } from '../process/launch.js';
import { answers } from '../process/wait.js';
import { temporalLaunch } from '../temporal/start.js';
import type { WorldFolder } from './folder.js';
import type { Settings } from './given.js';
import type { Secrets } from './secrets.js';

export const portNames = [
  ...(['postgres', 'temporal', 'temporalHttp', 'temporalUi', 'identity', 'host'] as const),
  ...([
    'control',
    'controlMetrics',
    'hostWorker',
    'hostWorkerMetrics',
    'background',
    'backgroundMetrics',
    'apiMetrics',
  ] as const),
] as const;

export interface Ground {
  folder: WorldFolder;
  given: Settings;
  ports: Record<(typeof portNames)[number], number>;
  secrets: Secrets;
  apiUrl: string;
  say: (line: string) => void;
  /** How to start a program of ours, by its place in dist; `env` is all the environment it gets. */
  program: (name: string, entry: string, env: Settings, args?: readonly string[]) => Omit<Launch, 'ready'>;
}

/** A part of the outside world: what the product must know to find it, and how to start it unless it is there already. */
export interface StandIn {
  settings: Settings;
  launch?: Launch;
}

export async function database({ folder, given, ports, say }: Ground): Promise<StandIn> {
  if (given['DATABASE_URL']) return { settings: {} };
  const { launch, url } = await postgresLaunch({
    dir: folder.path('postgres'),
    port: ports.postgres,
    logFile: folder.log('postgres'),
    database: 'agent_control_plane',
    note: say,
  });
  return { settings: { DATABASE_URL: url }, launch };
}

export async function engine({ folder, given, ports, say }: Ground): Promise<StandIn> {
  if (given['TEMPORAL_ADDRESS']) return { settings: {} };
  const launch = await temporalLaunch({
    port: ports.temporal,
    httpPort: ports.temporalHttp,
    uiPort: ports.temporalUi,
    dbFilename: folder.path('temporal.db'),
    logFile: folder.log('temporal'),
    note: say,
  });
  return {
    settings: {
      TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
      TEMPORAL_UI_URL: `http://127.0.0.1:${ports.temporalUi}`,
    },
    launch,
  };
}

export const identityClient = ({ given, apiUrl }: Pick<Ground, 'given' | 'apiUrl'>) => ({
  clientId: 'agent-control-plane',
  redirectUri: `${apiUrl}/auth/callback`,
  audience: given['OIDC_AUDIENCE'] ?? 'urn:agent-control-plane:api',
});

export function identity({ folder, given, ports, apiUrl, program }: Ground): StandIn {
  if (given['OIDC_ISSUER']) return { settings: {} };
  const issuer = `http://127.0.0.1:${ports.identity}`;
  const client = identityClient({ given, apiUrl });
  const settings = {
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: client.audience,
    OIDC_OPERATOR_CLAIM: 'role=operator',
  };
  const env = {
    ...given,
    IDENTITY_PORT: String(ports.identity),
    IDENTITY_DIR: folder.path('identity'),
    IDENTITY_CLIENT_ID: client.clientId,
    IDENTITY_REDIRECT_URI: client.redirectUri,
    IDENTITY_AUDIENCE: client.audience,
  };
  const ready = answers(`${issuer}/.well-known/openid-configuration`);
  return { settings, launch: { ...program('identity', 'local/identity/main.js', env), ready } };
}

export function host({ folder, given, ports, secrets, apiUrl, program }: Ground): StandIn {
  if (given['HOST_API_URL']) return { settings: {} };
  const url = `http://127.0.0.1:${ports.host}`;
  const settings = {
    HOST_API_URL: `${url}/v1`,
    HOST_API_TOKEN: secrets.hostToken,
    HOST_ORG: 'local',
    HOST_REGIONS: 'ams,fra',
    HOST_GATEWAY_URL: `${url}/ingress/{app}`,
    MACHINE_IMAGE: 'local/agent-runtime:1.0.0',
    MACHINE_API_URL: apiUrl, // machines are processes of this computer, whatever PUBLIC_URL says
    RUNTIME_VERSION: '1.0.0',
  };
  const env = {
    ...given,
    HOST_STANDIN_PORT: String(ports.host),
    HOST_STANDIN_DIR: folder.path('host'),
    HOST_STANDIN_TOKEN: secrets.hostToken,
    HOST_STANDIN_ORG: given['HOST_ORG'] ?? settings.HOST_ORG,
  };
  const headers = { authorization: `Bearer ${secrets.hostToken}` };
  const ready = answers(`${url}/_/faults`, headers);
  return { settings, launch: { ...program('host', 'local/host/main.js', env), ready } };
}
