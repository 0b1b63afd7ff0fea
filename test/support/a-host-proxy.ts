import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A point in the talk between a worker and the host. */
export interface Point {
  /** As `calls()` shows it, e.g. `POST /v1/apps/{app}/volumes #1`. */
  call: string;
  /** before: the host never hears of it; after: the host has done it, the worker never hears of that. */
  moment: 'before' | 'after';
}

export interface HostProxy {
  url: string;
  /** The calls since `record`, in order; a poll that goes on is one call. */
  calls(): string[];
  record(): void;
  /** Holds back the call of that point when it comes (again since `record`), and resolves then. */
  holdAt(point: Point): Promise<void>;
  /** Breaks the connections of what is held back, and holds back nothing more. */
  letGo(): void;
  /** What is held back goes on at last: the host hears of it, or the worker of what the host did. */
  deliver(): Promise<void>;
  close(): Promise<void>;
}

/** `POST /v1/apps/acp-test-01…/machines/148e…/start` without what differs between agents. */
const shapeOf = (request: IncomingMessage): string => {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const known = path.replace(/\/(apps|ingress)\/[^/]+/, '/$1/{app}').replace(/\/(machine|volume)s\/[^/]+/, '/$1s/{$1}');
  return `${request.method} ${known}`;
};

/** Stands between the host worker and the host (and the gateways behind its ingress). For one agent's job at a time. */
export const aHostProxy = async (hostUrl: string): Promise<HostProxy> => {
  let calls: string[] = [];
  let last = '';
  let held: { response: ServerResponse; goOn: () => Promise<void> }[] = [];
  let point: Point | undefined;
  let onReached = () => {};

  const nameOf = (request: IncomingMessage): string => {
    const shape = shapeOf(request);
    if (shape !== last) {
      last = shape;
      calls.push(`${shape} #${calls.filter((call) => call.startsWith(`${shape} #`)).length + 1}`);
    }
    return calls.findLast((call) => call.startsWith(`${shape} #`)) ?? shape;
  };

  const forward = async (request: IncomingMessage, body: Buffer): Promise<Response> => {
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers;
    return fetch(hostUrl + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>, // what a worker sends has no repeated headers
      ...(body.length > 0 ? { body } : {}),
    });
  };

  const holdBack = (response: ServerResponse, goOn: () => Promise<void>): void => {
    held.push({ response, goOn });
    point = undefined;
    onReached();
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = nameOf(request);
    const moment = point?.call === call ? point.moment : undefined;
    const body = await buffer(request);
    const ask = async () => {
      const reply = await forward(request, body);
      const bytes = Buffer.from(await reply.arrayBuffer());
      const type = reply.headers.get('content-type');
      return () => void response.writeHead(reply.status, type === null ? {} : { 'content-type': type }).end(bytes);
    };
    if (moment === 'before') return holdBack(response, async () => (await ask())());
    const reply = await ask();
    if (moment === 'after') return holdBack(response, async () => reply());
    reply();
  };

  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    answer(request, response).catch(() => response.destroy()); // the host broke the connection
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const letGo = () => {
    for (const { response } of held) response.destroy();
    held = [];
    point = undefined;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP server has one
    calls: () => [...calls],
    record: () => {
      calls = [];
      last = '';
    },
    holdAt: (wanted) =>
      new Promise((resolve) => {
        point = wanted;
        onReached = resolve;
      }),
    letGo,
    deliver: async () => {
      const late = held;
      held = [];
      for (const { goOn } of late) await goOn();
    },
    close: async () => {
      letGo();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
