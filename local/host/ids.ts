import { randomBytes, randomInt } from 'node:crypto';
import { ulid } from 'ulid';

/** 14 hexadecimal digits, as the real host's machines have. */
export const machineId = (): string => randomBytes(7).toString('hex');

export const volumeId = (): string => `vol_${letters(20)}`;

export const snapshotId = (): string => `vs_${letters(17)}`;

export const appId = (): string => letters(16);

export const leaseNonce = (): string => randomBytes(6).toString('hex');

/** Names one version of a machine; sorts by time. */
export const versionId = (): string => ulid();

export const eventId = (): string => ulid();

function letters(count: number): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
  return Array.from({ length: count }, () => alphabet[randomInt(alphabet.length)]).join('');
}
