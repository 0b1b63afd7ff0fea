import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { readJson, writeJson } from '../../local/process/files.js';
import { recordOf, stillRuns } from '../../local/process/identity.js';
import { RunningList } from '../../local/process/leftovers.js';

export const runFolderPrefix = 'acp-run-';

const Owner = z.object({ pid: z.number(), startedAt: z.string() });
const ownerFile = (folder: string): string => join(folder, 'owner.json');

/** The list of what a run has started. */
export const runningListOf = (folder: string): RunningList => new RunningList(join(folder, 'processes.json'));

/** Marks the folder as that of a run by this process. */
export const ownRun = async (folder: string): Promise<void> =>
  writeJson(ownerFile(folder), await recordOf(process.pid));

/** Ends the servers of runs that were killed, and removes their folders. */
export async function endLeftoverRuns(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(runFolderPrefix));
  for (const folder of names.map((name) => join(tmpdir(), name))) {
    const owner = await readJson(ownerFile(folder), Owner).catch(() => undefined);
    if (!owner || (await stillRuns(owner))) continue;
    await runningListOf(folder).endLeftovers();
    await rm(folder, { recursive: true, force: true });
  }
}
