import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { Failure } from '../process/failure.js';
import { readJson } from '../process/files.js';
import { recordOf, stillRuns } from '../process/identity.js';

/** What a world keeps: one folder, used by one starter at a time. */
export interface WorldFolder {
  dir: string;
  path: (...names: string[]) => string;
  log: (name: string) => string;
  release: () => Promise<void>;
}

const Holder = z.object({ pid: z.number(), startedAt: z.string() });

/** Where the world lives: LOCAL_DIR, by default `.local` in the working folder. */
export const worldDir = (): string => resolve(process.env['LOCAL_DIR'] || '.local');

/** @throws Failure when the folder cannot be used, or a running world uses it */
export async function openFolder(dir: string): Promise<WorldFolder> {
  const lock = join(dir, 'starter.json');
  try {
    // Node's own recursive mkdir never comes back from these.
    if (/^\/(proc|sys)(\/|$)/.test(dir)) throw new Error('nothing can be kept there');
    await mkdir(join(dir, 'logs'), { recursive: true });
    await takeLock(dir, lock);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(
      `The data folder ${dir} cannot be used (${reason}): make it writable, or choose another one: LOCAL_DIR=<folder> npm start`,
    );
  }
  return {
    dir,
    path: (...names) => join(dir, ...names),
    log: (name) => join(dir, 'logs', `${name}.log`),
    release: () => rm(lock, { force: true }),
  };
}

async function takeLock(dir: string, lock: string): Promise<void> {
  const holder = await readJson(lock, Holder).catch(() => undefined); // torn by a crash: nobody holds it
  if (holder && (await stillRuns(holder)))
    throw new Failure(
      `A world already runs from ${dir} (process ${holder.pid}): stop it, or start another one beside it: LOCAL_DIR=.local-2 PORT=3001 npm start`,
    );
  await rm(lock, { force: true });
  await writeFile(lock, JSON.stringify(await recordOf(process.pid)), { flag: 'wx', mode: 0o600 });
}
