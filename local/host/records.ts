/** States of a machine (providers.md). The stand-in passes through most of them. */
export type MachineState =
  | 'created'
  | 'starting'
  | 'started'
  | 'stopping'
  | 'stopped'
  | 'suspending'
  | 'suspended'
  | 'restarting'
  | 'replacing'
  | 'destroying'
  | 'destroyed'
  | 'failed';

export interface MachineConfig {
  image: string;
  env?: Record<string, string>;
  mounts?: { volume: string; path: string; name?: string }[];
  services?: { internal_port?: number; autostop?: string | boolean; [key: string]: unknown }[];
  checks?: Record<string, CheckConfig>;
  metadata?: Record<string, string>;
  restart?: { policy?: 'no' | 'on-failure' | 'always'; max_retries?: number };
  stop_config?: { signal?: string; timeout?: string | number };
  [key: string]: unknown;
}

export interface CheckConfig {
  type?: 'http' | 'tcp';
  path?: string;
  method?: string;
  [key: string]: unknown;
}

export interface MachineEvent {
  id: string;
  type: string;
  status: string;
  source: 'user' | 'flyd';
  /** Milliseconds since 1970. */
  timestamp: number;
  request?: Record<string, unknown>;
}

export interface Lease {
  nonce: string;
  /** Seconds since 1970. */
  expires_at: number;
  owner: string;
  description: string;
}

/** A machine as it lies on disk. */
export interface MachineRecord {
  id: string;
  name: string;
  state: MachineState;
  /** What the machine is to become once the transition under way ends, also after a crash of ours. */
  desired: 'created' | 'started' | 'stopped' | 'suspended' | 'failed' | 'destroyed';
  region: string;
  version: string;
  /** Versions that updates replaced, newest first. */
  pastVersions: string[];
  config: MachineConfig;
  /** The app's secrets as this version of the machine sees them. */
  secrets: Record<string, string>;
  secretsVersion: number;
  createdAt: string;
  updatedAt: string;
  destroyedAt?: string;
  events: MachineEvent[];
  lease?: Lease;
  /** The child process last booted: enough to find it again and to know that it is ours. */
  process?: { pid: number; port: number };
  isUnreachable?: boolean;
}

export interface VolumeRecord {
  id: string;
  name: string;
  state: 'created' | 'pending_destroy';
  region: string;
  sizeGb: number;
  createdAt: string;
  updatedAt: string;
  destroyAfter?: string;
  snapshots: { id: string; createdAt: string; size: number }[];
}

/** Everything one app owns; one file on disk, written whole. */
export interface AppRecord {
  id: string;
  name: string;
  network: string;
  idempotencyKey?: string;
  createdAt: string;
  secretsVersion: number;
  /** When the present version was set. */
  secretsSetAt?: string;
  secrets: Record<string, { value: string; digest: string; createdAt: string; updatedAt: string }>;
  machines: MachineRecord[];
  volumes: VolumeRecord[];
}
