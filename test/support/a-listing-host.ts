import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A machine as the stub shows it, in lists and singly. */
export interface ListedMachine {
  id: string;
  app_name: string;
  state: string;
  region: string;
  created_at: string;
  updated_at: string;
  config: { metadata: Record<string, string> };
}

export interface ListingHost {
  url: string;
  /** How often each was asked since the last `forgetCalls`: pages of the organisation's list, single machines, anything else. */
  calls: { lists: number; looks: number; others: string[] };
  forgetCalls(): void;
  close(): Promise<void>;
}

/** Answers the host's list of an organisation and its look at one machine, at the wire, for more machines than could run here. */
export const aListingHost = async (org: string, machines: Map<string, ListedMachine>): Promise<ListingHost> => {
  const calls: ListingHost['calls'] = { lists: 0, looks: 0, others: [] };

  const page = (query: URLSearchParams) => {
    const after = query.get('updated_after') ?? '';
    const changed = [...machines.values()].filter((machine) => machine.updated_at > after);
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Number(query.get('limit') ?? 100);
    return {
      machines: changed.slice(from, to),
      next_cursor: to < changed.length ? String(to) : null,
      last_updated_at: changed.reduce((newest, { updated_at: at }) => (at > newest ? at : newest), after) || null,
      error_regions: [],
    };
  };

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.method === 'GET' && pathname === `/v1/orgs/${org}/machines`) {
      calls.lists++;
      return void answer(200, page(searchParams));
    }
    const id = /^\/v1\/apps\/[^/]+\/machines\/([^/]+)$/.exec(pathname)?.[1];
    if (request.method === 'GET' && id !== undefined) {
      calls.looks++;
      const machine = machines.get(id);
      return void (machine ? answer(200, machine) : answer(404, { error: 'machine not found' }));
    }
    calls.others.push(`${request.method} ${pathname}`);
    answer(404, { error: 'not found' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP server has one
    calls,
    forgetCalls: () => void Object.assign(calls, { lists: 0, looks: 0, others: [] }),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
