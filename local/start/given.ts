import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

/** Settings by name. */
export type Settings = Record<string, string>;

/**
 * What the person set: the environment, else a file `.env` in the project's folder. Empty values count as not set, and
 * what npm adds for its own children is left out.
 */
export async function givenSettings(project: string): Promise<Settings> {
  const file = await readFile(join(project, '.env'), 'utf8').catch(() => '');
  const all = Object.entries({ ...parseEnv(file), ...process.env });
  return Object.fromEntries(all.flatMap(([name, value]) => (value && !/^npm_/i.test(name) ? [[name, value]] : [])));
}
