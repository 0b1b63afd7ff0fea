import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from './a-stack.js';
import { appNameOf } from './host-side.js';

/** What an agent's machine can authenticate with, so far as it has got it yet. */
export interface MachineSecrets {
  runtimeId?: string;
  bootstrapToken?: string;
  accessToken?: string;
  refreshToken?: string;
}

const readJson = async (file: string): Promise<Record<string, never>> => {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Record<string, never>; // tests read what they know is there
  } catch {
    return {}; // not yet, or no more
  }
};

/** Reads the tokens where they lie: in the host's store of secrets, and on the volume where the runtime keeps its session. */
export const secretsOfMachine = async ({ db, hostFolder }: Stack, agentId: string): Promise<MachineSecrets> => {
  const app = (await readJson(join(hostFolder, 'apps', `${appNameOf(agentId)}.json`))) as {
    secrets?: Record<string, { value: string }>;
    volumes?: { id: string }[];
  };
  const volume = app.volumes?.[0]?.id ?? 'none';
  const kept = (await readJson(join(hostFolder, 'volumes', volume, 'acp', 'runtime.json'))) as {
    session?: { accessToken: string; refreshToken: string };
  };
  const runtime = await db('runtime_identities')
    .where({ agentId })
    .orderBy('generation', 'desc')
    .first<{ id: string }>();
  const bootstrapToken = app.secrets?.['ACP_BOOTSTRAP_TOKEN']?.value;
  return {
    ...(runtime ? { runtimeId: runtime.id } : {}),
    ...(bootstrapToken === undefined ? {} : { bootstrapToken }),
    ...kept.session,
  };
};
