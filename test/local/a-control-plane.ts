import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

export interface Seen {
  method: string;
  path: string;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'reset';

export interface FakeControlPlane {
  url: string;
  seen: Seen[];
  /** Answers to the next exchanges and status calls; without one they succeed. */
  exchanges: Reply[];
  statuses: Reply[];
  /** Of the access tokens it issues; an hour by default. */
  lifeMs: number;
}

/** As much of a control plane as a runtime talks to, on a loopback port of its own. */
export async function aControlPlane(t: ExecutionContext): Promise<FakeControlPlane> {
  const fake: FakeControlPlane = {
    url: '',
    seen: [],
    exchanges: [],
    statuses: [],
    lifeMs: 3_600_000,
  };
  let issued = 0;
  const session = (body: Record<string, unknown>): Reply => {
    issued += 1;
    const expiresAt = new Date(Date.now() + fake.lifeMs).toISOString();
    return {
      status: 200,
      body: {
        tokenType: 'Bearer',
        runtimeId: body['runtimeId'],
        agentId: 'agt_one',
        userId: 'usr_one',
        runtimeVersion: body['runtimeVersion'],
        accessToken: `secret-access-${issued}`,
        accessTokenExpiresAt: expiresAt,
        refreshToken: `secret-refresh-${issued}`,
        refreshTokenExpiresAt: expiresAt,
      },
    };
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      const path = request.url ?? '';
      const { authorization } = request.headers;
      fake.seen.push({ method: request.method ?? '', path, authorization, body });
      const isExchange = path === '/api/runtime/bootstrap/exchange';
      const reply = isExchange
        ? (fake.exchanges.shift() ?? session(body))
        : (fake.statuses.shift() ?? { status: 200, body: { ok: true } });
      if (reply === 'reset') return void request.socket.resetAndDestroy();
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(JSON.stringify(reply.body ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return fake;
}
