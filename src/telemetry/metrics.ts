import { createServer, type Server } from 'node:http';
import { collectDefaultMetrics, Gauge, register } from 'prom-client';
import type { Log } from './log.js';

/** `/metrics` in the Prometheus format, on a port of its own. */
export const serveMetrics = (port: number, address: string, log: Log): Server => {
  collectDefaultMetrics();
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    register.metrics().then(
      (text) => response.writeHead(200, { 'content-type': register.contentType }).end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.on('error', (error) => log.error({ err: error.message }, 'the metrics port cannot be served'));
  return server.listen(port, address);
};

/** A number that is read when somebody asks for it; NaN while it cannot be read. */
export const gauge = (name: string, help: string, read: () => Promise<number>): void => {
  const measured = new Gauge({
    name,
    help,
    registers: [],
    async collect() {
      this.set(await read().catch(() => Number.NaN));
    },
  });
  register.registerMetric(measured);
};
