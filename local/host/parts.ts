import type { EffectLog } from './effect-log.js';
import type { Fleet } from './fleet.js';
import type { Knobs } from './knobs.js';
import type { AppRecord, VolumeRecord } from './records.js';
import { Refusal } from './refusal.js';
import type { Store } from './store.js';

/** What the routes work on. */
export interface HostParts {
  store: Store;
  fleet: Fleet;
  effects: EffectLog;
  knobs: Knobs;
  org: string;
}

/** @throws Refusal 404 when there is no app of that name. */
export function getApp({ store }: HostParts, name: string | undefined): AppRecord {
  const app = store.find(name ?? '');
  if (app === undefined) throw new Refusal(404, `app ${name} not found`);
  return app;
}

/** @throws Refusal 404 when the app has no such volume. */
export function getVolume(app: AppRecord, id: string | undefined): VolumeRecord {
  const volume = app.volumes.find((candidate) => candidate.id === id);
  if (volume === undefined) throw new Refusal(404, `volume ${id} not found`);
  return volume;
}
