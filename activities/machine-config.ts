import type { Agent } from '../src/models/agent.js';
import type { MachineConfig } from '../src/providers/host/host.js';

export interface MachineSettings {
  /** Tells this installation's resources from others' at the host. */
  installationId: string;
  image: string;
  /** Where machines reach the API. */
  apiUrl: string;
  /** Tried in this order when there is no capacity. */
  regions: string[];
  /** With `{app}` for the app's name. */
  gatewayUrl: string;
  runtimeVersion: string;
  memoryMb: number;
  volumeGb: number;
}

const GATEWAY_PORT = 8080;
const MOUNT_PATH = '/data';
/** Where a runtime keeps its state, and its log. */
export const STATE_DIR = `${MOUNT_PATH}/acp`;

export const gatewayUrlOf = (settings: Pick<MachineSettings, 'gatewayUrl'>, app: string): string =>
  settings.gatewayUrl.replaceAll('{app}', app);

/** What a machine runs with (docs/runtime.md says what each variable means). Secrets come from the host's secret store. */
export const machineConfigOf = (agent: Agent, runtimeId: string, settings: MachineSettings): MachineConfig => ({
  image: settings.image,
  env: {
    ACP_URL: settings.apiUrl,
    ACP_AGENT_ID: agent.id,
    ACP_RUNTIME_ID: runtimeId,
    ACP_RUNTIME_VERSION: agent.runtimeVersion ?? settings.runtimeVersion,
    ACP_GATEWAY_PORT: String(GATEWAY_PORT),
    ACP_STATE_DIR: STATE_DIR,
  },
  guest: { cpu_kind: 'shared', cpus: 1, memory_mb: settings.memoryMb },
  mounts: agent.hostVolumeId === null ? [] : [{ volume: agent.hostVolumeId, path: MOUNT_PATH }],
  services: [
    {
      protocol: 'tcp',
      internal_port: GATEWAY_PORT,
      autostop: 'off',
      autostart: false,
      ports: [
        { port: 443, handlers: ['tls', 'http'] },
        { port: 80, handlers: ['http'], force_https: true },
      ],
    },
  ],
  checks: {
    ready: { type: 'http', port: GATEWAY_PORT, path: '/readyz', interval: '15s', timeout: '5s', grace_period: '10s' },
  },
  metadata: {
    acp_installation: settings.installationId,
    acp_agent_id: agent.id,
    acp_generation: String(agent.generation),
  },
  restart: { policy: 'on-failure', max_retries: 10 },
});
