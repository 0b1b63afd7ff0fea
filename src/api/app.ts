import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import Koa from 'koa';
import { ApiError } from '../contract/errors.js';
import type { Log } from '../telemetry/log.js';
import type { Deps } from '../operations/operation.js';
import { makeAuthenticate, type Recognizers } from './authenticate.js';
import type { RequestState } from './context.js';
import { serveDocs } from './docs.js';
import { type Health, serveHealth } from './health.js';
import { mount } from './mount.js';
import { renderErrors, toProblem } from './render-error.js';
import { makeRateLimits } from './rate-limit.js';
import { identifyAndLog } from './request-id.js';

export interface ApiOptions {
  deps: Deps;
  recognize: Recognizers;
  health: Health;
  publicUrl: string;
  /** Where a line for each request goes. */
  requests: Log;
  /** Whether requests are counted against budgets. */
  rateLimits: boolean;
  /** A proxy of ours stands in front and tells the caller's address. */
  trustProxy: boolean;
}

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;

const safeHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
};

const overTls = { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' };

const headersFor = (publicUrl: string): Record<string, string> =>
  publicUrl.startsWith('https:') ? { ...safeHeaders, ...overTls } : safeHeaders;

/** The Koa application: named steps, top to bottom. */
export const makeApp = ({
  deps,
  recognize,
  health,
  publicUrl,
  requests,
  rateLimits,
  trustProxy,
}: ApiOptions): Koa<RequestState> => {
  const app = new Koa<RequestState>({ proxy: trustProxy, maxIpsCount: 1 });
  app.use(identifyAndLog(requests));
  const headers = Object.entries(headersFor(publicUrl));
  let watchesForProxy = !trustProxy;
  app.use((ctx, next) => {
    for (const [name, value] of headers) ctx.res.setHeader(name, value);
    if (watchesForProxy && ctx.req.headers['x-forwarded-for'] !== undefined) {
      watchesForProxy = false; // once is enough
      deps.log.warn(
        'X-Forwarded-For is ignored: if your proxy sets it, set TRUST_PROXY=on, or all callers share one budget',
      );
    }
    return next();
  });
  app.use(renderErrors(deps.log));
  app.use(serveHealth(health));
  app.use(serveDocs(publicUrl));
  const guards = { authenticate: makeAuthenticate(recognize), limits: makeRateLimits(rateLimits) };
  for (const step of mount(deps, guards)) app.use(step);
  // What Koa itself reports: a socket that broke while a body was sent.
  app.on('error', (error: Error) => deps.log.debug({ err: error.message }, 'response broke'));
  app.silent = true;
  return app;
};

/** A refusal made below the application, as a problem document like any other. */
const refusal = (
  headers: Record<string, string>,
  status: number,
  detail: string,
): { head: OutgoingHttpHeaders; body: string } => {
  const requestId = randomUUID();
  const body = JSON.stringify({ ...toProblem(new ApiError('invalid_request', detail), '', requestId), status });
  const head = {
    ...headers,
    'Cache-Control': 'no-store',
    'X-Request-Id': requestId,
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  return { head, body };
};

const notHttp = 'This is not a valid HTTP request.';

/** Requests that never reach the application (bad syntax, huge or slow headers). */
const refuseMalformed =
  (headers: Record<string, string>) =>
  (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
    const [status, detail] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? ([431, `The headers are larger than ${MAX_HEADER_BYTES} bytes.`] as const)
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? ([408, 'The request did not arrive in time.'] as const)
          : ([400, notHttp] as const);
    const { head, body } = refusal(headers, status, detail);
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  };

/** Whether the target can be read at all: Koa's own reading of it throws, outside of every step, when it cannot. */
const isReadable = (target = ''): boolean =>
  (target.startsWith('/') && !target.startsWith('//')) || URL.canParse(target, 'http://localhost');

/** An HTTP server with bounded headers and bounded patience. */
export const makeServer = (app: Koa<RequestState>, publicUrl: string): Server => {
  const handle = app.callback();
  const headers = headersFor(publicUrl);
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      // Node looks for what is overdue only so often; half a minute unless told.
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 65_000,
      // Left to the application, whose refusals are problem documents.
      requireHostHeader: false,
    },
    (request, response) => {
      if (isReadable(request.url)) return void handle(request, response);
      const { head, body } = refusal(headers, 400, notHttp);
      response.writeHead(400, head).end(body);
    },
  );
  server.on('clientError', refuseMalformed(headers));
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { head, body } = refusal(headers, 417, 'Only the expectation 100-continue can be met.');
    response.writeHead(417, head).end(body);
  });
  return server;
};
