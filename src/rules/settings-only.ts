import { isHarmless, isSecretName } from './secret-name.js';

/**
 * Strings that are credentials under whatever name: by their form, not by how random they look, for so do the ids of voices,
 * models and rooms, which are settings.
 */
const credentialForms = [
  /\bacp_\w{8,}/, // ours
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/, // a JWT
  /-----BEGIN [A-Z ]+-----/, // PEM
  /^\s*(bearer|basic)\s+\S+\s*$/i,
  /\b(bearer|basic)\s+(?=\S*\d)\S{8,}/i,
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+@/i, // an address with a name or password in it
  /\b\d{6,}:[\w-]{30,}/, // a bot's token
  /\b(sk|pk|rk)[-_][\w-]{16,}|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[A-Z0-9]{12,}/,
];

const isCredential = (text: string): boolean =>
  credentialForms.some((form) => form.test(text)) ||
  [...text.matchAll(/[?&#]([^=&#\s]+)=[^&#\s]/g)].some(([, name = '']) => isSecretName(name));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `{name: 'X-Api-Key', value: …}`: the name is beside its value, not above it. */
const isSecretPair = (record: Record<string, unknown>): boolean =>
  'value' in record &&
  ['name', 'key', 'header'].some((label) => typeof record[label] === 'string' && isSecretName(record[label]));

const isKept = (value: unknown): boolean =>
  typeof value === 'string' ? !isCredential(value) : !(isRecord(value) && isSecretPair(value));

const inside = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter(isKept).map(inside);
  return isRecord(value) ? settingsOnly(value) : value;
};

const isSecretEntry = (record: Record<string, unknown>, name: string): boolean =>
  isCredential(name) ||
  (isSecretName(name) && !isHarmless(name, record[name]) && !(name === 'key' && 'value' in record));

/** The settings without anything, at any depth, that could let a copy act as the original: no credential, token or connection. */
export const settingsOnly = (settings: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings)
      .filter(([name, value]) => !isSecretEntry(settings, name) && isKept(value))
      .map(([name, value]) => [name, inside(value)]),
  );
