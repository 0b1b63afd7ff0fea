import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
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
import { identifyAndLog } from './request-id.js';

export interface ApiOptions {
  deps: Deps;
  recognize: Recognizers;
  health: Health;
  publicUrl: string;
  /** Where a line for each request goes. */
  requests: Log;
}

const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;

const safeHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
};

const safeHeaderList = Object.entries(safeHeaders);

/** The Koa application: named steps, top to bottom. */
export const makeApp = ({ deps, recognize, health, publicUrl, requests }: ApiOptions): Koa<RequestState> => {
  const app = new Koa<RequestState>();
  app.use(identifyAndLog(requests));
  app.use((ctx, next) => {
    for (const [name, value] of safeHeaderList) ctx.res.setHeader(name, value);
    return next();
  });
  app.use(renderErrors(deps.log));
  app.use(serveHealth(health));
  app.use(serveDocs(publicUrl));
  for (const step of mount(deps, makeAuthenticate(recognize))) app.use(step);
  // What Koa itself reports: a socket that broke while a body was sent.
  app.on('error', (error: Error) => deps.log.debug({ err: error.message }, 'response broke'));
  app.silent = true;
  return app;
};

/** Requests that never reach the application (bad syntax, huge or slow headers) get a problem document too. */
const refuseMalformed = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const status = tooLarge
    ? '431 Request Header Fields Too Large'
    : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? '408 Request Timeout'
      : '400 Bad Request';
  const detail = tooLarge
    ? `The headers are larger than ${MAX_HEADER_BYTES} bytes.`
    : 'This is not a valid HTTP request.';
  const requestId = randomUUID();
  const problem = toProblem(new ApiError('invalid_request', detail), '', requestId);
  const body = JSON.stringify({ ...problem, status: Number(status.slice(0, 3)) });
  const headers = {
    ...safeHeaders,
    'X-Request-Id': requestId,
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`);
};

/** An HTTP server with bounded headers and bounded patience. */
export const makeServer = (app: Koa<RequestState>): Server => {
  const handle = app.callback();
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: 65_000,
      // Left to the application, whose refusals are problem documents.
      requireHostHeader: false,
    },
    (request, response) => void handle(request, response),
  );
  server.on('clientError', refuseMalformed);
  return server;
};
