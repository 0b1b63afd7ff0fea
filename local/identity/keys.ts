import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { z } from 'zod';
import { readJson, writeJson } from '../process/files.js';

const IdentityKeys = z.object({ signing: z.custom<JWK>(), cookie: z.string() });
export type IdentityKeys = z.infer<typeof IdentityKeys>;

/** The keys kept in this file, made on first use: tokens stay good over a restart. */
export async function openKeys(file: string): Promise<IdentityKeys> {
  const kept = await readJson(file, IdentityKeys);
  if (kept) return kept;
  const keys = await makeKeys();
  await writeJson(file, keys);
  return keys;
}

export async function makeKeys(): Promise<IdentityKeys> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const kid = randomBytes(6).toString('hex');
  return {
    signing: { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' },
    cookie: randomBytes(24).toString('base64url'),
  };
}
