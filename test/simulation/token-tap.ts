import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface RuntimeTokens {
  access: Set<string>;
  refresh: Set<string>;
  bootstrap: Set<string>;
}

/** Stands between the machines and the API and keeps every token that was ever handed over, by runtime. */
export interface TokenTap {
  url: string;
  tokensOf(runtimeId: string): RuntimeTokens;
  /** Where the API is. */
  connect(apiUrl: string): void;
  close(): Promise<void>;
}

const parse = (text: string): Record<string, unknown> => {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
};

export const aTokenTap = async (): Promise<TokenTap> => {
  const known = new Map<string, RuntimeTokens>();
  let target = '';
  const tokensOf = (runtimeId: string): RuntimeTokens => {
    const tokens = known.get(runtimeId) ?? { access: new Set(), refresh: new Set(), bootstrap: new Set() };
    known.set(runtimeId, tokens);
    return tokens;
  };

  const note = (sent: Record<string, unknown>, told: Record<string, unknown>): void => {
    const runtimeId = sent['runtimeId'] ?? told['runtimeId'];
    if (typeof runtimeId !== 'string') return;
    const tokens = tokensOf(runtimeId);
    if (typeof sent['bootstrapToken'] === 'string') tokens.bootstrap.add(sent['bootstrapToken']);
    if (typeof told['accessToken'] === 'string') tokens.access.add(told['accessToken']);
    if (typeof told['refreshToken'] === 'string') tokens.refresh.add(told['refreshToken']);
  };

  const forward = async (request: IncomingMessage) => {
    const sent = await buffer(request);
    const { authorization, 'content-type': type } = request.headers;
    const answer = await fetch(target + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      ...(sent.length > 0 ? { body: sent } : {}),
    });
    const text = await answer.text();
    note(parse(sent.toString('utf8')), parse(text));
    return { status: answer.status, type: answer.headers.get('content-type') ?? 'text/plain', text };
  };

  const server = createServer((request, response) => {
    response.on('error', () => undefined); // the machine was killed
    forward(request).then(
      ({ status, type, text }) => response.writeHead(status, { 'content-type': type }).end(text),
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP server has one
    tokensOf,
    connect: (apiUrl) => void (target = apiUrl),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
