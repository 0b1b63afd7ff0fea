import { z } from 'zod';
import type { HostMachine, HostOutcome, HostVolume, OrgMachine, OrgMachines, OrgVolumes } from './host.js';

/** The host's answers as far as they are read; fields documented as strings come as null. */
const text = z.string().nullish();

const WireMachine = z.object({
  id: z.string().min(1),
  name: text,
  state: z.string().min(1),
  region: text,
  instance_id: text,
  version: text,
  created_at: text,
  updated_at: text,
  config: z.object({ metadata: z.record(z.string(), z.string()).nullish() }).nullish(),
  checks: z.array(z.object({ name: text, status: text, output: text })).nullish(),
});

const WireVolume = z.object({
  id: z.string().min(1),
  name: z.string(),
  region: text,
  state: text,
  attached_machine_id: text,
  created_at: text,
});

/** Nonsense in a date is no reason to refuse the machine. */
const toTimestampOrNull = (text: string | null | undefined): string | null => {
  const at = new Date(text ?? Number.NaN);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
};

const toMachine = (wire: z.infer<typeof WireMachine>): HostMachine => ({
  id: wire.id,
  name: wire.name ?? '',
  state: wire.state,
  region: wire.region ?? '',
  version: wire.instance_id ?? wire.version ?? '',
  createdAt: toTimestampOrNull(wire.created_at),
  updatedAt: toTimestampOrNull(wire.updated_at),
  metadata: wire.config?.metadata ?? {},
  checks: (wire.checks ?? []).map((check) => ({
    name: check.name ?? '',
    status: check.status ?? '',
    output: check.output ?? '',
  })),
});

const toVolume = (wire: z.infer<typeof WireVolume>): HostVolume => ({
  id: wire.id,
  name: wire.name,
  region: wire.region ?? '',
  state: wire.state ?? '',
  attachedMachineId: wire.attached_machine_id ?? null,
  createdAt: wire.created_at ?? '',
});

export const MachineAnswer = WireMachine.transform(toMachine);
export const MachinesAnswer = z.array(WireMachine).transform((machines) => machines.map(toMachine));
export const VolumeAnswer = WireVolume.transform(toVolume);
export const VolumesAnswer = z.array(WireVolume).transform((volumes) => volumes.map(toVolume));
const WireOrgMachine = WireMachine.extend({ app_name: text });

const toOrgMachine = (wire: z.infer<typeof WireOrgMachine>): OrgMachine => ({
  id: wire.id,
  appName: wire.app_name ?? '',
  state: wire.state,
  region: wire.region ?? '',
  createdAt: toTimestampOrNull(wire.created_at),
  updatedAt: toTimestampOrNull(wire.updated_at),
  metadata: wire.config?.metadata ?? {},
});

export const OrgMachinesAnswer = z
  .object({
    machines: z.array(WireOrgMachine).nullish(),
    next_cursor: text,
    last_updated_at: text,
    error_regions: z.array(z.string()).nullish(),
  })
  .transform((wire): OrgMachines => ({
    machines: (wire.machines ?? []).map(toOrgMachine),
    nextCursor: wire.next_cursor || null,
    lastUpdatedAt: wire.last_updated_at || null,
    errorRegions: wire.error_regions ?? [],
  }));

/** Zeros and empty texts may be left out. */
export const OutcomeAnswer = z
  .object({
    stdout: text,
    stderr: text,
    exit_code: z.number().int().nullish(),
    exit_signal: z.number().int().nullish(),
  })
  .transform((wire): HostOutcome => ({
    stdout: wire.stdout ?? '',
    stderr: wire.stderr ?? '',
    exitCode: wire.exit_signal ? 128 + wire.exit_signal : (wire.exit_code ?? 0),
  }));

const WireOrgVolume = WireVolume.extend({ app_name: text });

export const OrgVolumesAnswer = z
  .object({
    volumes: z.array(WireOrgVolume).nullish(),
    next_cursor: text,
    error_regions: z.array(z.string()).nullish(),
  })
  .transform((wire): OrgVolumes => ({
    volumes: (wire.volumes ?? []).map((volume) => ({ ...toVolume(volume), appName: volume.app_name ?? '' })),
    nextCursor: wire.next_cursor || null,
    errorRegions: wire.error_regions ?? [],
  }));

/** The field is written both ways in the field. */
export const SecretsAnswer = z
  .object({ version: z.number().optional(), Version: z.number().optional() })
  .transform((answer) => answer.version ?? answer.Version)
  .pipe(z.number().int());

export const RefusalAnswer = z.object({ error: text, status: text });
