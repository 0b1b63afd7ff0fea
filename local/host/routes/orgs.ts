import { invalid } from '../input.js';
import { slice } from '../pages.js';
import type { HostParts } from '../parts.js';
import { Refusal } from '../refusal.js';
import { renderListedMachine, renderVolume } from '../render.js';
import type { Answer, Call, Routes } from '../server.js';

interface Entry {
  id: string;
  region: string;
  updatedAt: string;
  isGone: boolean;
  shown: Record<string, unknown>;
}

/** Organisation-wide lists: for sweeps, and as stale as `listLagMs` makes them. */
export function orgRoutes(parts: HostParts): Routes {
  const { store, org, knobs } = parts;

  const machines = (): Entry[] =>
    store.apps().flatMap((app) =>
      app.machines.map((record) => ({
        ...entry(record, record.state === 'destroyed'),
        shown: { ...structuredClone(renderListedMachine(record)), app_name: app.name },
      })),
    );

  const volumes = (): Entry[] =>
    store.apps().flatMap((app) =>
      app.volumes.map((volume) => ({
        ...entry(volume, volume.state === 'pending_destroy'),
        shown: { ...renderVolume(app, volume), app_name: app.name },
      })),
    );

  const list = (plural: 'machines' | 'volumes', read: () => Entry[]) => {
    let seen: { at: number; entries: Entry[] } | undefined;
    const lagging = (): Entry[] => {
      if (seen === undefined || Date.now() - seen.at >= knobs.listLagMs) seen = { at: Date.now(), entries: read() };
      return seen.entries;
    };
    return ({ params, query }: Call): Answer => {
      if (params['org'] !== org) throw new Refusal(404, 'organization not found');
      const after = query.get('updated_after');
      const since = after === null ? Number.NEGATIVE_INFINITY : Date.parse(after);
      if (Number.isNaN(since)) throw invalid('updated_after must be a date and time');
      const matching = lagging().filter(
        (one) =>
          Date.parse(one.updatedAt) > since &&
          !knobs.errorRegions.includes(one.region) &&
          (query.get('region') ?? one.region) === one.region &&
          (!one.isGone || query.get('include_deleted') === 'true'),
      );
      const { items, next } = slice(matching, Number(query.get('limit') ?? 100), query.get('cursor'));
      const latest = matching.map(({ updatedAt }) => updatedAt).reduce((a, b) => (a > b ? a : b), after ?? '');
      return {
        body: {
          [plural]: items.map(({ shown }) => shown),
          next_cursor: next,
          last_updated_at: latest === '' ? null : latest,
          error_regions: knobs.errorRegions,
        },
      };
    };
  };

  return {
    'GET /v1/orgs/:org/machines': list('machines', machines),
    'GET /v1/orgs/:org/volumes': list('volumes', volumes),
  };
}

function entry(
  { id, region, updatedAt }: { id: string; region: string; updatedAt: string },
  isGone: boolean,
): Omit<Entry, 'shown'> {
  return { id, region, updatedAt, isGone };
}
