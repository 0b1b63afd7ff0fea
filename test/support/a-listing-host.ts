import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface ListedMachine {
  id: string;
  app_name: string;
  name: string;
  state: string;
  region: string;
  updated_at: string;
  config: { metadata: Record<string, string> };
}

export interface ListingHost {
  url: string;
  machines: ListedMachine[];
  /** How often each kind of call was made. */
  calls: { lists: number; looks: number };
  /** Lists show these; whoever asks for one of their machines gets 503. */
  silentRegions: Set<string>;
  silentMachines: Set<string>;
  /** Ids of machines whose app has two attached volumes of the agent's name. */
  twoVolumes: Set<string>;
  close(): Promise<void>;
}

/** The reading half of a host with more machines than could run here; its volumes are one for each machine. */
export const aListingHost = async (machines: ListedMachine[]): Promise<ListingHost> => {
  const [silentRegions, silentMachines, twoVolumes] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const calls = { lists: 0, looks: 0 };
  const byId = new Map<string, ListedMachine>();
  const server = createServer((request, response) => {
    for (const machine of machines) if (byId.size < machines.length) byId.set(machine.id, machine);
    const url = new URL(request.url ?? '/', 'http://host');
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const [, plural] = /^\/v1\/orgs\/acme\/(machines|volumes)$/.exec(url.pathname) ?? [];
    if (plural !== undefined) {
      calls.lists++;
      const after = url.searchParams.get('updated_after') ?? '';
      const matching = machines.filter(({ updated_at }) => updated_at > after);
      const [start, limit] = [Number(url.searchParams.get('cursor') ?? 0), Number(url.searchParams.get('limit'))];
      const page = matching.slice(start, start + limit);
      const toVolume = ({ id, app_name, region }: ListedMachine) => ({
        id: `vol_${id}`,
        app_name,
        region,
        state: 'created',
        name: app_name.replace('acp-test-', 'vol_'),
      });
      return answer(200, {
        [plural]: plural === 'machines' ? page : page.map(toVolume),
        next_cursor: start + limit < matching.length ? String(start + limit) : null,
        last_updated_at: machines.reduce((latest, { updated_at }) => (updated_at > latest ? updated_at : latest), ''),
        error_regions: [],
      });
    }
    calls.looks++;
    const app = /^\/v1\/apps\/([^/]+)\/volumes$/.exec(url.pathname)?.[1];
    const owner = machines.find(({ id, app_name: name }) => name === app && twoVolumes.has(id));
    if (owner)
      return answer(
        200,
        ['a', 'b'].map((letter) => ({
          id: `vol_${letter}`,
          name: owner.app_name.replace('acp-test-', 'vol_'),
          state: 'created',
          region: owner.region,
          attached_machine_id: owner.id,
          created_at: owner.updated_at,
        })),
      );
    const machine = byId.get(/\/machines\/([^/]+)$/.exec(url.pathname)?.[1] ?? '');
    if (machine && (silentRegions.has(machine.region) || silentMachines.has(machine.id)))
      return answer(503, { error: 'try again later' });
    return machine ? answer(200, machine) : answer(404, { error: 'not found' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // listening on a port
    machines,
    calls,
    silentRegions,
    silentMachines,
    twoVolumes,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
