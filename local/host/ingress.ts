import { request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Fleet } from './fleet.js';

const PREFIX = '/ingress/';
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function isIngress(request: IncomingMessage): boolean {
  return request.url?.startsWith(PREFIX) ?? false;
}

/**
 * The public side of an app: streams the request to its started machine and the answer back.
 * 502 when no machine is started, 503 when the machine does not take the connection.
 */
export function proxyToMachine(fleet: Fleet, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [app = '', ...rest] = (request.url ?? '').slice(PREFIX.length).split('/');
  const name = app.split('?', 1)[0];
  const machine = fleet.all().find((one) => one.app.name === name && one.port !== undefined && one.isReachable);
  return new Promise((resolve) => {
    response.once('close', resolve);
    if (machine?.port === undefined) {
      fail(response, 502, 'no started machine');
      return resolve();
    }
    const upstream = send({
      host: '127.0.0.1',
      port: machine.port,
      method: request.method,
      path: `/${rest.join('/')}`,
      headers: { ...endToEnd(request.headers), host: `127.0.0.1:${machine.port}` },
      agent: false, // a connection of its own: a kept one could be a dead machine's
    });
    upstream.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
      answer.once('end', resolve);
      answer.once('error', () => response.destroy());
      answer.pipe(response);
    });
    upstream.once('error', () => {
      if (response.headersSent) response.destroy();
      else fail(response, 503, 'the machine does not answer');
      resolve();
    });
    response.once('close', () => upstream.destroy());
    request.pipe(upstream);
  });
}

function endToEnd(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
}

function fail(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error, status: 'unknown' }));
}
