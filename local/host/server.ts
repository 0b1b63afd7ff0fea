import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyOf } from '../request-body.js';
import { Refusal } from './refusal.js';

export interface Call {
  params: Record<string, string>;
  query: URLSearchParams;
  /** The JSON object that was sent; empty when nothing was. */
  body: Record<string, unknown>;
  request: IncomingMessage;
}

export interface Answer {
  status?: number;
  /** Rendered as JSON; a string goes out as it is; absent means no body. */
  body?: unknown;
  headers?: Record<string, string>;
}

export type Handler = (call: Call) => Answer | Promise<Answer>;

/** `'GET /v1/apps/:app'` → handler. */
export type Routes = Record<string, Handler>;

interface Route {
  method: string;
  segments: string[];
  handle: Handler;
}

/**
 * Answers requests from the table: 401, 404, 405 and broken bodies are dealt with here.
 * `admit` may throw a Refusal before the handler runs.
 */
export function makeResponder(
  routes: Routes,
  token: string,
  admit: (request: IncomingMessage) => unknown = () => undefined,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const table = Object.entries(routes).map(([key, handle]): Route => {
    const [method = '', path = ''] = key.split(' ');
    return { method, segments: path.split('/'), handle };
  });
  return async (request, response) => {
    const answer = await dispatch(table, token, request, admit).catch(refused);
    send(response, answer);
  };
}

async function dispatch(
  table: Route[],
  token: string,
  request: IncomingMessage,
  admit: (request: IncomingMessage) => unknown,
): Promise<Answer> {
  if (!isBearer(request, token)) throw new Refusal(401, 'unauthorized');
  admit(request);
  const url = new URL(request.url ?? '/', 'http://host');
  const segments = url.pathname.split('/');
  const matching = table.flatMap((route) => {
    const params = match(route.segments, segments);
    return params === undefined ? [] : [{ route, params }];
  });
  if (matching.length === 0) throw new Refusal(404, 'not found');
  const found = matching.find(({ route }) => route.method === request.method);
  if (found === undefined) throw new Refusal(405, 'method not allowed');
  const body = await readBody(request);
  return found.route.handle({ params: found.params, query: url.searchParams, body, request });
}

function match(pattern: string[], segments: string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined;
    } else {
      if (segment === '') return undefined;
      params[part.slice(1)] = decode(segment);
    }
  }
  return params;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, 'invalid_argument: malformed path');
  }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await bodyOf(request).catch(() => {
    throw new Refusal(400, 'the request was cut off');
  });
  if (bytes === undefined) throw new Refusal(413, 'request body too large');
  const text = bytes.toString('utf8');
  if (text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'invalid_argument: the body is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal(400, 'invalid_argument: the body is not an object');
  }
  return value as Record<string, unknown>; // an object that is no array
}

function isBearer(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

function refused(error: unknown): Answer {
  if (error instanceof Refusal) {
    const { message, status, headers } = error;
    return { status: error.httpStatus, body: { error: message, status }, headers };
  }
  console.error(error); // a fault of the stand-in itself: its log is where to look
  return { status: 500, body: { error: 'internal error', status: 'unknown' } };
}

function send(response: ServerResponse, { status = 200, body, headers }: Answer): void {
  if (body === undefined) {
    response.writeHead(status, headers);
    response.end();
    return;
  }
  const isText = typeof body === 'string';
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
