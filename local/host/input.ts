import { durationMs } from './durations.js';
import type { StopWith } from './machine.js';
import type { MachineConfig } from './records.js';
import { Refusal } from './refusal.js';

type Fields = Record<string, unknown>;

/** @throws Refusal 400 unless the field is absent, null or of the type. */
export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(`${name} must be a string`);
  return value;
}

export function requiredText(fields: Fields, name: string): string {
  const value = optionalText(fields, name);
  if (value === undefined) throw invalid(`${name} is required`);
  return value;
}

export function optionalNumber(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${name} must be a number`);
  return value;
}

/** An object of strings; absent counts as empty. */
export function texts(fields: Fields, name: string): Record<string, string> {
  const value = object(fields[name] ?? {}, name);
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') throw invalid(`${name}.${key} must be a string`);
  }
  return value as Record<string, string>; // every value was looked at
}

/** Checks what the stand-in uses of a machine's config; the rest is kept and given back as sent. */
export function machineConfig(value: unknown): MachineConfig {
  const config = object(value, 'config');
  requiredText(config, 'image');
  texts(config, 'env');
  texts(config, 'metadata');
  const mounts = list(config['mounts'] ?? [], 'mounts').map((mount) => object(mount, 'mounts'));
  if (mounts.length > 1) throw invalid('a machine mounts one volume at most');
  for (const mount of mounts) {
    requiredText(mount, 'volume');
    requiredText(mount, 'path');
  }
  for (const service of list(config['services'] ?? [], 'services')) object(service, 'services');
  for (const check of Object.values(object(config['checks'] ?? {}, 'checks'))) object(check, 'checks');
  const restart = object(config['restart'] ?? {}, 'restart');
  if (!['no', 'on-failure', 'always'].includes(optionalText(restart, 'policy') ?? 'no')) {
    throw invalid('restart.policy must be no, on-failure or always');
  }
  optionalNumber(restart, 'max_retries');
  return structuredClone(config) as MachineConfig; // every field of the type was looked at
}

/** Signal and time-out of a stop; the config's stop_config, then SIGINT and 5 s, where not given. */
export function stopWith(fields: Fields, config: MachineConfig): StopWith {
  const fallback = config.stop_config ?? {};
  const signal = optionalText(fields, 'signal') ?? fallback.signal ?? 'SIGINT';
  if (!/^SIG(TERM|INT|KILL|QUIT|HUP|USR1|USR2)$/.test(signal)) throw invalid('unknown signal');
  return {
    signal: signal as NodeJS.Signals, // one of the names above
    timeoutMs: durationMs(fields['timeout'] ?? fallback.timeout, 5_000),
    isRequested: true,
  };
}

export function object(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(`${name} must be an object`);
  }
  return value as Fields; // an object that is no array
}

function list(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value)) throw invalid(`${name} must be an array`);
  return value;
}

export function invalid(message: string): Refusal {
  return new Refusal(400, `invalid_argument: ${message}`);
}
