import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { snapshotId, volumeId } from '../ids.js';
import { invalid, optionalNumber, optionalText, requiredText } from '../input.js';
import { page } from '../pages.js';
import { getApp, getVolume, type HostParts } from '../parts.js';
import type { AppRecord, VolumeRecord } from '../records.js';
import { Refusal } from '../refusal.js';
import { attachedTo, renderVolume } from '../render.js';
import type { Answer, Call, Routes } from '../server.js';

const PATH = '/v1/apps/:app/volumes';
const KEPT_MS = 24 * 3_600_000;

export function volumeRoutes(parts: HostParts): Routes {
  const { store, effects, knobs } = parts;

  const create = async ({ params, body }: Call): Promise<Answer> => {
    const app = getApp(parts, params['app']);
    const name = requiredText(body, 'name');
    if (!/^[a-z0-9_]{1,30}$/.test(name)) throw invalid('name must be at most 30 of a-z, 0-9 and _');
    const region = requiredText(body, 'region');
    const sizeGb = optionalNumber(body, 'size_gb') ?? 3;
    if (!Number.isInteger(sizeGb) || sizeGb < 1) throw invalid('size_gb must be at least 1');
    const source = sourcePath(app, body);
    if (knobs.fullRegions.includes(region)) {
      throw new Refusal(422, `insufficient capacity for volumes in ${region}`, 'volume_placement_capacity');
    }
    const now = new Date().toISOString();
    const volume: VolumeRecord = {
      id: volumeId(),
      name,
      state: 'created',
      region,
      sizeGb,
      createdAt: now,
      updatedAt: now,
      snapshots: [],
    };
    await mkdir(store.volumePath(volume.id), { mode: 0o700 });
    if (source !== undefined) await cp(source, store.volumePath(volume.id), { recursive: true });
    if (getApp(parts, app.name) !== app) throw new Refusal(404, `app ${app.name} not found`); // deleted meanwhile
    app.volumes.push(volume); // names are not unique
    effects.append('volume.create', name, volume.id);
    await store.save(app);
    return { body: renderVolume(app, volume) };
  };

  /** @throws Refusal 404 for an unknown source. */
  const sourcePath = (app: AppRecord, body: Record<string, unknown>): string | undefined => {
    const volume = optionalText(body, 'source_volume_id');
    if (volume !== undefined) return store.volumePath(getVolume(app, volume).id);
    const snapshot = optionalText(body, 'snapshot_id');
    if (snapshot === undefined) return undefined;
    const owner = app.volumes.find(({ snapshots }) => snapshots.some(({ id }) => id === snapshot));
    if (owner === undefined) throw new Refusal(404, `snapshot ${snapshot} not found`);
    return snapshotPath(owner, snapshot);
  };

  const snapshotPath = (volume: VolumeRecord, id: string): string =>
    join(`${store.volumePath(volume.id)}.snapshots`, id);

  const remove = async ({ params }: Call): Promise<Answer> => {
    const app = getApp(parts, params['app']);
    const volume = getVolume(app, params['id']);
    const holder = attachedTo(app, volume.id);
    if (holder !== undefined) {
      throw new Refusal(412, `failed_precondition: volume is currently attached to machine ${holder.id}`);
    }
    if (volume.state !== 'pending_destroy') {
      volume.state = 'pending_destroy'; // kept for a day, as the real host does
      volume.updatedAt = new Date().toISOString();
      volume.destroyAfter = new Date(Date.now() + KEPT_MS).toISOString();
      effects.append('volume.delete', volume.name, volume.id);
      await store.save(app);
    }
    return { body: renderVolume(app, volume) };
  };

  const snapshot = async ({ params }: Call): Promise<Answer> => {
    const app = getApp(parts, params['app']);
    const volume = getVolume(app, params['id']);
    const taken = { id: snapshotId(), createdAt: new Date().toISOString(), size: 0 };
    await cp(store.volumePath(volume.id), snapshotPath(volume, taken.id), { recursive: true });
    volume.snapshots.unshift(taken);
    await store.save(app);
    return { body: renderSnapshot(taken) };
  };

  return {
    [`POST ${PATH}`]: create,
    [`GET ${PATH}`]: ({ params, query }) => {
      const app = getApp(parts, params['app']);
      const { items, headers } = page(app.volumes, query);
      return { body: items.map((volume) => renderVolume(app, volume)), headers };
    },
    [`GET ${PATH}/:id`]: ({ params }) => {
      const app = getApp(parts, params['app']);
      return { body: renderVolume(app, getVolume(app, params['id'])) };
    },
    [`DELETE ${PATH}/:id`]: remove,
    [`POST ${PATH}/:id/snapshots`]: snapshot,
    [`GET ${PATH}/:id/snapshots`]: ({ params }) => ({
      body: getVolume(getApp(parts, params['app']), params['id']).snapshots.map(renderSnapshot),
    }),
  };
}

function renderSnapshot(snapshot: VolumeRecord['snapshots'][number]): Record<string, unknown> {
  return {
    id: snapshot.id,
    created_at: snapshot.createdAt,
    digest: null,
    retention_days: 5,
    size: snapshot.size,
    status: 'created',
  };
}
