import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { answerRpc, type RpcFacts } from './rpc.js';

const MAX_BODY_BYTES = 256 * 1024;
const RPC_PATH = '/api/v1/admin/rpc';

export interface GatewayParts extends RpcFacts {
  gatewayToken: string;
  isNeverReady: boolean;
}

/** The runtime's HTTP side: health, readiness and the gateway's rpc route (providers.md, messengerB). */
export function makeGateway(parts: GatewayParts): Server {
  return createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0];
    if (path === '/healthz') return only('GET', request, response, () => json(response, 200, { ok: true }));
    if (path === '/readyz') return only('GET', request, response, () => readiness(parts, response));
    if (path === RPC_PATH) return only('POST', request, response, () => rpc(parts, request, response));
    plain(response, 404, 'not found');
  });
}

function readiness(parts: GatewayParts, response: ServerResponse): void {
  const { runtimeVersion, signOn } = parts;
  if (parts.isNeverReady) return json(response, 503, { ready: false, reason: 'never_ready' });
  if (signOn.session !== undefined) return json(response, 200, { ready: true, runtimeVersion });
  json(response, 503, { ready: false, reason: signOn.reason ?? 'starting' });
}

function rpc(parts: GatewayParts, request: IncomingMessage, response: ServerResponse): void {
  if (!isBearer(request.headers.authorization, parts.gatewayToken)) {
    response.setHeader('www-authenticate', 'Bearer');
    return plain(response, 401, 'unauthorized');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk); // the rest is read and dropped, so the answer arrives
  });
  request.on('end', () => {
    if (bytes > MAX_BODY_BYTES) return plain(response, 413, 'payload too large');
    const answer = answerRpc(Buffer.concat(chunks).toString('utf8'), parts);
    json(response, answer.status, answer.body);
  });
}

/** Hashing first makes both sides equally long, which timingSafeEqual demands. */
function isBearer(header: string | undefined, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(header ?? '')?.[1] ?? '';
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token)) && token !== '';
}

function only(method: 'GET' | 'POST', request: IncomingMessage, response: ServerResponse, answer: () => void): void {
  if (request.method === method || (method === 'GET' && request.method === 'HEAD')) return answer();
  response.setHeader('allow', method);
  plain(response, 405, 'method not allowed');
}

function json(response: ServerResponse, status: number, body: Record<string, unknown>): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(text);
}
