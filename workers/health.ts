import { createServer, type Server } from 'node:http';
import type { Log } from '../src/telemetry/log.js';

export interface Readiness {
  ready: boolean;
  reason?: string;
}

/** `/healthz` = the process runs; `/readyz` = it does its work. On a port of its own, never the public one. */
export const serveHealth = (port: number, address: string, readiness: () => Promise<Readiness>, log: Log): Server => {
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url === '/healthz') return void answer(200, { ok: true });
    if (request.url !== '/readyz') return void answer(404, { ok: false });
    readiness().then(
      (state) => answer(state.ready ? 200 : 503, state),
      (error: unknown) => answer(503, { ready: false, reason: String(error) }),
    );
  });
  server.on('error', (error) => log.error({ err: error.message }, 'the health port cannot be served'));
  return server.listen(port, address);
};
