import { execFile } from 'node:child_process';
import { access, constants, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../process/failure.js';
import { buildEngine } from './build.js';
import { downloadEngine } from './download.js';
import { engineVersion } from './version.js';

/**
 * Finds Temporal's command line program, the engine of the local world: TEMPORAL_CLI_PATH, the PATH, the cache, the
 * download that Temporal's SDKs use, or built with Go into the cache. `note` hears about what takes time.
 * @throws Failure naming the choices when there is none
 */
export async function findEngine(note: (line: string) => void): Promise<string> {
  const given = process.env['TEMPORAL_CLI_PATH'];
  if (given) return checkGiven(resolve(given));
  const installed = await firstRunnable(onPath('temporal'));
  if (installed) return installed;
  const cached = join(cacheFolder(), 'temporal');
  if (await firstRunnable([cached])) return cached;
  await mkdir(cacheFolder(), { recursive: true });
  if (await downloadEngine(cached, note)) return cached;
  if (await buildEngine(cached, note)) return cached;
  throw new Failure(
    `There is no Temporal engine: install the Temporal CLI (https://docs.temporal.io/cli) or Go, or set TEMPORAL_CLI_PATH to its program or TEMPORAL_ADDRESS to a running server.`,
  );
}

async function checkGiven(path: string): Promise<string> {
  try {
    await promisify(execFile)(path, ['--version']);
    return path;
  } catch {
    throw new Failure(`TEMPORAL_CLI_PATH is ${path}, which does not run: correct it or leave it away.`);
  }
}

const cacheFolder = (): string =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'agent-control-plane', `temporal-${engineVersion}`);

const onPath = (name: string): string[] =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map((folder) => join(folder, name));

async function firstRunnable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const runs = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
}
