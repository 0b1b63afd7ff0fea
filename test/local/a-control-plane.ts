import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

export interface Seen {
  /** Milliseconds since the epoch. */
  at: number;
  method: string;
  path: string;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

/** `lost`: it is done, and the answer never arrives. */
type Reply = { status: number; body?: unknown; headers?: Record<string, string> } | 'reset' | 'lost';

export interface FakeControlPlane {
  url: string;
  seen: Seen[];
  /** Answers to the next exchanges, refreshes and status calls; without one they succeed. */
  exchanges: Reply[];
  refreshes: Reply[];
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
    refreshes: [],
    statuses: [],
    lifeMs: 3_600_000,
  };
  let issued = 0;
  let runtimeVersion: unknown;
  const present = (): Reply => {
    const expiresAt = new Date(Date.now() + fake.lifeMs).toISOString();
    return {
      status: 200,
      body: {
        tokenType: 'Bearer',
        runtimeId: 'rt_one',
        agentId: 'agt_one',
        userId: 'usr_one',
        runtimeVersion,
        accessToken: `secret-access-${issued}`,
        accessTokenExpiresAt: expiresAt,
        refreshToken: `secret-refresh-${issued}`,
        refreshTokenExpiresAt: new Date(Date.now() + 86_400_000).toISOString(),
      },
    };
  };
  const exchange = (body: Record<string, unknown>): Reply => {
    issued += 1;
    runtimeVersion = body['runtimeVersion'];
    return present();
  };
  /** The present refresh token rotates, its direct predecessor gets the same pair again, any other is reuse. */
  const refresh = ({ refreshToken }: Record<string, unknown>): Reply => {
    if (refreshToken === `secret-refresh-${issued}`) issued += 1;
    else if (refreshToken !== `secret-refresh-${issued - 1}`) return { status: 401, body: { code: 'token_reused' } };
    return present();
  };
  const answer = (path: string, body: Record<string, unknown>): Reply => {
    if (path === '/api/runtime/bootstrap/exchange') return fake.exchanges.shift() ?? exchange(body);
    if (path !== '/api/runtime/auth/refresh') return fake.statuses.shift() ?? { status: 200, body: { ok: true } };
    const given = fake.refreshes.shift();
    if (given === undefined || given === 'lost') {
      const done = refresh(body);
      return given ?? done;
    }
    return given;
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      const path = request.url ?? '';
      const { authorization } = request.headers;
      fake.seen.push({ at: Date.now(), method: request.method ?? '', path, authorization, body });
      const reply = answer(path, body);
      if (reply === 'reset' || reply === 'lost') return void request.socket.resetAndDestroy();
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
