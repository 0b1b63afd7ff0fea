import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppRecord } from './records.js';

/** The apps in memory, each mirrored to one file that is replaced whole. */
export interface Store {
  apps(): AppRecord[];
  find(name: string): AppRecord | undefined;
  add(app: AppRecord): void;
  remove(app: AppRecord): void;
  /** Resolves when what the app holds now is on disk; calls that overlap share a write. */
  save(app: AppRecord): Promise<void>;
  volumePath(volumeId: string): string;
  machinePath(machineId: string): string;
}

export function openStore(dir: string): Store {
  const folder = (...names: string[]): string => join(dir, ...names);
  for (const name of ['apps', 'volumes', 'machines']) {
    mkdirSync(folder(name), { recursive: true, mode: 0o700 });
  }
  const apps = readApps(folder('apps'));
  const writers = new Map<string, () => Promise<void>>();

  const write = async (name: string): Promise<void> => {
    const app = apps.get(name);
    const path = folder('apps', `${name}.json`);
    if (app === undefined) return rm(path, { force: true });
    await writeFile(`${path}.tmp`, JSON.stringify(app), { mode: 0o600 });
    await rename(`${path}.tmp`, path);
  };
  return {
    apps: () => [...apps.values()],
    find: (name) => apps.get(name),
    add: (app) => void apps.set(app.name, app),
    remove: (app) => void apps.delete(app.name),
    async save({ name }) {
      let writer = writers.get(name);
      if (writer === undefined) writers.set(name, (writer = coalesced(() => write(name))));
      await writer();
    },
    volumePath: (volumeId) => folder('volumes', volumeId),
    machinePath: (machineId) => folder('machines', machineId),
  };
}

/** Runs the work one at a time; calls made before a run begins share that run. */
function coalesced(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;
  return () => {
    if (waiting !== undefined) return waiting;
    const run = async (): Promise<void> => {
      await last.catch(() => undefined); // its own callers hear of a failure
      waiting = undefined;
      await work();
    };
    waiting = last = run();
    return waiting;
  };
}

function readApps(folder: string): Map<string, AppRecord> {
  const apps = new Map<string, AppRecord>();
  for (const file of readdirSync(folder)) {
    const path = join(folder, file);
    if (file.endsWith('.tmp')) rmSync(path); // left by a crash before its rename
    if (!file.endsWith('.json')) continue;
    const app = JSON.parse(readFileSync(path, 'utf8')) as AppRecord; // written by write above
    apps.set(app.name, app);
  }
  return apps;
}
