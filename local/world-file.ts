import { z } from 'zod';
import { Failure } from './process/failure.js';
import { readJson } from './process/files.js';

/** What a running world tells about itself; null = that part of it is not this world's own, or not built yet. */
export const World = z.object({
  apiUrl: z.string(),
  temporalAddress: z.string(),
  temporalUiUrl: z.string().nullable(),
  identityUrl: z.string(),
  hostUrl: z.string().nullable(),
  billerUrl: z.string().nullable(),
  messengerAUrl: z.string().nullable(),
  llmUrl: z.string().nullable(),
  searchUrl: z.string().nullable(),
  databaseUrl: z.string(),
  users: z.array(z.object({ email: z.string(), password: z.string(), role: z.string() })),
  keys: z.object({
    hostToken: z.string().nullable(),
    hostOrg: z.string().nullable(),
    machineImage: z.string().nullable(),
    billerKey: z.string().nullable(),
    billerWebhookSecret: z.string().nullable(),
    oidcClientId: z.string().nullable(),
    oidcAudience: z.string(),
    oidcRedirectUri: z.string().nullable(),
    botTokens: z.array(z.string()),
  }),
});
export type World = z.infer<typeof World>;

/** @throws Failure when no world was started in this folder */
export async function readWorld(file: string): Promise<World> {
  const world = await readJson(file, World);
  if (world) return world;
  throw new Failure(`There is no ${file}: start the world with npm start, or set LOCAL_DIR to its folder.`);
}
