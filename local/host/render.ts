import type { Machine } from './machine.js';
import type { AppRecord, MachineConfig, MachineRecord, VolumeRecord } from './records.js';

/** Our records as the API shows them. What it documents as strings comes as null when empty. */

export function renderApp(app: AppRecord, org: string): Record<string, unknown> {
  return {
    id: app.id,
    name: app.name,
    internal_numeric_id: null,
    network: app.network,
    status: app.machines.length === 0 ? 'pending' : 'deployed',
    machine_count: app.machines.filter(({ state }) => state !== 'destroyed').length,
    volume_count: app.volumes.length,
    organization: { name: org, slug: org, internal_numeric_id: null },
    created_at: app.createdAt,
  };
}

export function renderMachine(machine: Machine): Record<string, unknown> {
  const { record } = machine;
  return {
    ...renderListedMachine(record),
    instance_id: record.version,
    host_status: record.isUnreachable ? 'unreachable' : 'ok',
    ...(record.isUnreachable && { config: null, incomplete_config: renderConfig(record.config) }),
    checks: machine.checks.map((check) => ({ ...check })),
    cordoned: false,
    nonce: null,
  };
}

/** As organisation-wide lists show it: without checks, instance_id and host_status. */
export function renderListedMachine(record: MachineRecord): Record<string, unknown> {
  const [, repository = record.config.image, tag = null] =
    /^(.*?)(?::([^:/@]+))?(?:@.*)?$/.exec(record.config.image) ?? [];
  return {
    id: record.id,
    name: record.name,
    state: record.state,
    region: record.region,
    version: record.version,
    private_ip: `fdaa:0:${record.id.slice(0, 4)}:a7b::2`,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    image_ref: { registry: null, repository, tag, digest: null, labels: null },
    config: renderConfig(record.config),
    incomplete_config: null,
    events: [...record.events],
  };
}

export function renderVolume(app: AppRecord, volume: VolumeRecord): Record<string, unknown> {
  const attached = attachedTo(app, volume.id);
  return {
    id: volume.id,
    name: volume.name,
    state: volume.state,
    region: volume.region,
    zone: null,
    size_gb: volume.sizeGb,
    encrypted: true,
    attached_machine_id: attached?.id ?? null,
    attached_alloc_id: null,
    host_status: attached?.isUnreachable ? 'unreachable' : 'ok',
    snapshot_retention: 5,
    auto_backup_enabled: true,
    created_at: volume.createdAt,
    updated_at: volume.updatedAt,
  };
}

/** The machine that holds the volume, if any. */
export function attachedTo(app: AppRecord, volumeId: string): MachineRecord | undefined {
  return app.machines.find(
    ({ state, config }) => state !== 'destroyed' && config.mounts?.some(({ volume }) => volume === volumeId),
  );
}

/** `autostop` is set by a word but answered as a boolean for `off` and `stop`. */
function renderConfig(config: MachineConfig): MachineConfig {
  if (config.services === undefined) return config;
  const words: Record<string, boolean> = { off: false, stop: true };
  const services = config.services.map((service) =>
    typeof service.autostop === 'string' && service.autostop in words
      ? { ...service, autostop: words[service.autostop] }
      : service,
  );
  return { ...config, services };
}
