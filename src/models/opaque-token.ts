import { createHash, createHmac, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyRing } from './key-ring.js';

/** Prefixes of the tokens we issue, so that a leaked one can be recognised. */
export const tokenPrefixes = {
  userAccess: 'acp_uat_',
  userRefresh: 'acp_urt_',
  namedToken: 'acp_pat_',
  deviceCode: 'acp_dev_',
  runtimeAccess: 'acp_rat_',
  runtimeRefresh: 'acp_rrt_',
  bootstrap: 'acp_boot_',
  gateway: 'acp_gw_',
} as const;
export type TokenKind = keyof typeof tokenPrefixes;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

const base62 = (value: bigint, length: number): string => {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text;
  return text;
};

const checksumOf = (text: string): string => base62(BigInt(crc32(text)), CHECKSUM_LENGTH);

const write = (kind: TokenKind, secret: Buffer): string => {
  const text = tokenPrefixes[kind] + base62(BigInt(`0x${secret.toString('hex')}`), SECRET_LENGTH);
  return text + checksumOf(text);
};

/** A new random token: prefix, 256 bits in base62, 6 characters of checksum. */
export const randomToken = (kind: TokenKind): string => write(kind, randomBytes(SECRET_BYTES));

/** The token of generation n of a family: derived, so a lost reply can be given again without storing the token. */
export const derivedToken = (
  keys: KeyRing,
  keyId: string,
  kind: TokenKind,
  family: string,
  generation: number,
): string =>
  write(
    kind,
    createHmac('sha256', keys.key(keyId, 'derived-tokens')).update(`${family}.${generation}.${kind}`).digest(),
  );

/** Whether the text has the form of such a token; says nothing of whether it was issued. */
export const isToken = (kind: TokenKind, text: string): boolean => {
  const end = tokenPrefixes[kind].length + SECRET_LENGTH;
  return (
    text.startsWith(tokenPrefixes[kind]) &&
    text.length === end + CHECKSUM_LENGTH &&
    text.slice(end) === checksumOf(text.slice(0, end))
  );
};

/** What is kept of a token: 256 bits of entropy need no salt and no slow hash. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();
