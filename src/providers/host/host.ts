/** The machine host, as far as the service uses it. Every call takes a signal and may throw VendorError. */
export interface Host {
  findApp(app: string, signal?: AbortSignal): Promise<'ours' | 'taken' | 'free'>;
  createApp(app: string, signal?: AbortSignal): Promise<void>;
  /** Cascades to machines and volumes. */
  deleteApp(app: string, signal?: AbortSignal): Promise<void>;
  /** Returns the version a machine must have to see them. null removes a secret. */
  setSecrets(app: string, values: Record<string, string | null>, signal?: AbortSignal): Promise<number>;
  listVolumes(app: string, signal?: AbortSignal): Promise<HostVolume[]>;
  createVolume(app: string, volume: NewVolume, signal?: AbortSignal): Promise<HostVolume>;
  deleteVolume(app: string, id: string, signal?: AbortSignal): Promise<void>;
  listMachines(app: string, signal?: AbortSignal): Promise<HostMachine[]>;
  createMachine(app: string, machine: NewMachine, signal?: AbortSignal): Promise<HostMachine>;
  /** undefined = the host says 404. */
  findMachine(app: string, id: string, signal?: AbortSignal): Promise<HostMachine | undefined>;
  updateMachine(app: string, id: string, update: MachineUpdate, signal?: AbortSignal): Promise<HostMachine>;
  startMachine(app: string, id: string, signal?: AbortSignal): Promise<void>;
  stopMachine(app: string, id: string, signal?: AbortSignal): Promise<void>;
  /**
   * Runs a command on a started machine, which ends it after `timeoutSeconds`; what it wrote and how it ended. Never asked twice here:
   * after an error other than a refusal (4xx) it may have run. Throws AnswerTooLarge when it wrote more than can be taken.
   */
  exec(app: string, id: string, command: HostCommand, signal?: AbortSignal): Promise<HostOutcome>;
  deleteMachine(app: string, id: string, signal?: AbortSignal): Promise<void>;
  /** Machines of the whole organisation that changed after a moment, gone ones too; eventually consistent. */
  listOrgMachines(page: OrgPage, signal?: AbortSignal): Promise<OrgMachines>;
  /** Volumes of the whole organisation that are there; eventually consistent. */
  listOrgVolumes(page: Pick<OrgPage, 'cursor'>, signal?: AbortSignal): Promise<OrgVolumes>;
  /** Holds until the machine is in the state or the time (1..60 s) is over; whether it got there. */
  waitForMachine(app: string, id: string, wait: MachineWait, signal?: AbortSignal): Promise<boolean>;
}

export interface HostVolume {
  id: string;
  name: string;
  region: string;
  state: string;
  attachedMachineId: string | null;
  createdAt: string;
}

export interface NewVolume {
  name: string;
  region: string;
  sizeGb: number;
}

/** The host's machine configuration; it is replaced whole by an update. */
export interface MachineConfig {
  image: string;
  env: Record<string, string>;
  guest: { cpu_kind: string; cpus: number; memory_mb: number };
  mounts: { volume: string; path: string }[];
  services: unknown[];
  checks: Record<string, unknown>;
  metadata: Record<string, string>;
  restart: { policy: string; max_retries?: number };
}

export interface NewMachine {
  name: string;
  region: string;
  config: MachineConfig;
  minSecretsVersion: number;
}

export interface MachineUpdate {
  config: MachineConfig;
  /** The version the update is based on: another writer's is a 409. */
  currentVersion: string;
  minSecretsVersion: number;
}

export interface MachineWait {
  state: 'started' | 'stopped' | 'destroyed';
  /** Needed for `stopped`. */
  version?: string;
  timeoutSeconds: number;
}

export interface HostCommand {
  command: string[];
  timeoutSeconds: number;
}

export interface HostOutcome {
  stdout: string;
  stderr: string;
  /** As shells tell it: 128 and the number of the signal when one ended it. */
  exitCode: number;
}

export interface OrgPage {
  /** ISO 8601; absent = all there are. */
  updatedAfter?: string | undefined;
  cursor?: string | undefined;
}

export interface OrgMachines {
  machines: OrgMachine[];
  nextCursor: string | null;
  /** The newest change in the list: where the next look begins. */
  lastUpdatedAt: string | null;
  /** Regions that did not answer: what is missing from the list says nothing. */
  errorRegions: string[];
}

/** A machine as organisation-wide lists show it: without checks. */
export interface OrgMachine {
  id: string;
  appName: string;
  state: string;
  region: string;
  createdAt: string | null;
  /** When it last changed, by the host's clock. */
  updatedAt: string | null;
  metadata: Record<string, string>;
}

export interface OrgVolumes {
  volumes: OrgVolume[];
  nextCursor: string | null;
  errorRegions: string[];
}

export interface OrgVolume extends HostVolume {
  appName: string;
}

export interface HostMachine {
  id: string;
  name: string;
  /** The host's own word, kept verbatim. */
  state: string;
  region: string;
  /** instance id: the version of configuration and secrets. */
  version: string;
  createdAt: string | null;
  updatedAt: string | null;
  metadata: Record<string, string>;
  checks: { name: string; status: string; output: string }[];
}
