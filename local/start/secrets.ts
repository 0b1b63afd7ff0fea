import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readJson, writeJson } from '../process/files.js';

const Secrets = z.object({ encryptionKeys: z.string(), hostToken: z.string() });
export type Secrets = z.infer<typeof Secrets>;

/** The world's own secrets, made at its first start. @throws Failure when the file is broken: data hangs on it */
export async function openSecrets(file: string): Promise<Secrets> {
  const kept = await readJson(file, Secrets);
  if (kept) return kept;
  const secrets = {
    encryptionKeys: `local:${randomBytes(32).toString('base64')}`,
    hostToken: randomBytes(24).toString('base64url'),
  };
  await writeJson(file, secrets);
  return secrets;
}
