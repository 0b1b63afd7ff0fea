import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { bodyOf } from './request-body.js';

export const faultModes = [
  'error-before', // answers `status` without the effect
  'error-after', // the effect happens, then `status`
  'reset-after', // the effect happens, then the connection breaks
  'timeout-after', // the effect happens, then silence
  'delay', // waits `delayMs`, then goes on as if nothing were
  'rate-limit', // 429 with Retry-After, without the effect
  'malformed', // the effect happens, the answer is broken JSON
  'down', // the connection breaks before anything happens
  'twice', // the request is delivered twice, one after the other; the second answer is the one that is sent
] as const;
export type FaultMode = (typeof faultModes)[number];

/** A way in which a stand-in is to misbehave, as the tests and `world fault` send it. */
export interface Fault {
  /** `path` is a part of the URL's path, or a regular expression written `/…/`; `body` a part of the body's text (of requests to an API; what is only passed on is not read). */
  match?: { method?: string; path?: string; body?: string };
  /** How often it strikes; 1 by default, until cleared when 0, or absent for `down` and `delay`. */
  times?: number;
  mode: FaultMode;
  /** Of the answer of error-before and error-after; 500 by default. */
  status?: number;
  /** Milliseconds; of `delay`, and before any other mode strikes. */
  delayMs?: number;
  /** Seconds, of `rate-limit`; 1 by default. */
  retryAfter?: number;
  /** The body of an injected answer, instead of a plain `{error, status}`. */
  body?: unknown;
}

export interface InjectedFault extends Fault {
  /** How often this fault has struck so far. */
  injected: number;
}

/** One fault that was added, for who added it. */
export interface AddedFault {
  /** How often it has struck so far, also after its removal. */
  injected(): number;
  remove(): void;
}

export interface Faults {
  /** @throws Error saying what is wrong with the fault. */
  add(fault: unknown): AddedFault;
  clear(): void;
  list(): InjectedFault[];
  /**
   * Runs `respond` as the faults now in force allow. With `namedOnly`, faults without a path
   * leave the request alone (a host's API and its ingress fail independently).
   */
  around(
    request: IncomingMessage,
    response: ServerResponse,
    respond: () => Promise<void>,
    options?: { namedOnly?: boolean },
  ): Promise<void>;
}

export function makeFaults(): Faults {
  let faults: InjectedFault[] = [];
  const take = async (request: IncomingMessage, namedOnly: boolean): Promise<InjectedFault[]> => {
    const taken: InjectedFault[] = [];
    const fitting = faults.filter((fault) => !isSpent(fault) && matches(fault, request, namedOnly));
    const body = fitting.some(({ match }) => match?.body !== undefined) ? await textOf(request) : '';
    for (const fault of fitting) {
      if (isSpent(fault) || !body.includes(fault.match?.body ?? '')) continue;
      fault.injected += 1;
      taken.push(fault);
      if (fault.mode !== 'delay') break; // delays add up, of the rest only one can strike
    }
    return taken;
  };
  return {
    add: (fault) => {
      const added = { ...parseFault(fault), injected: 0 };
      faults = [...faults, added];
      return { injected: () => added.injected, remove: () => void (faults = faults.filter((one) => one !== added)) };
    },
    clear: () => void (faults = []),
    list: () => faults.map((fault) => ({ ...fault })),
    async around(request, response, respond, options) {
      const taken = await take(request, options?.namedOnly ?? false);
      for (const { delayMs } of taken) if (delayMs !== undefined) await sleep(delayMs);
      const fault = taken.at(-1);
      if (fault === undefined || fault.mode === 'delay') return respond();
      await strike(fault, request, response, respond);
    },
  };
}

async function strike(
  fault: Fault,
  request: IncomingMessage,
  response: ServerResponse,
  respond: () => Promise<void>,
): Promise<void> {
  const body = fault.body ?? { error: 'injected fault', status: 'unknown' };
  if (fault.mode === 'down') return void request.socket.destroy();
  if (fault.mode === 'error-before') return answer(response, fault.status ?? 500, body);
  if (fault.mode === 'rate-limit') {
    return answer(response, 429, body, { 'retry-after': String(fault.retryAfter ?? 1) });
  }
  const release = holdBack(response);
  await respond();
  const { status } = release();
  if (fault.mode === 'twice') return respond();
  if (fault.mode === 'reset-after') return void request.socket.resetAndDestroy();
  if (fault.mode === 'error-after') return answer(response, fault.status ?? 500, body);
  if (fault.mode === 'malformed') return answer(response, status, '{"id": "trunca');
  // timeout-after: the socket stays open and silent until the caller gives up
}

/** Swallows what is written to the response until released; tells the status it would have had. */
function holdBack(response: ServerResponse): () => { status: number } {
  let status: number | undefined;
  response.writeHead = (code: number) => {
    status = code;
    return response;
  };
  response.write = () => true;
  response.end = () => response;
  return () => {
    for (const name of ['writeHead', 'write', 'end']) Reflect.deleteProperty(response, name); // the class's own again
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    return { status: status ?? response.statusCode };
  };
}

function answer(response: ServerResponse, status: number, body: unknown, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Empty when the request was cut off. */
async function textOf(request: IncomingMessage): Promise<string> {
  return (await bodyOf(request).catch(() => undefined))?.toString('utf8') ?? '';
}

function isSpent(fault: InjectedFault): boolean {
  const untilCleared = fault.mode === 'down' || fault.mode === 'delay';
  const times = fault.times ?? (untilCleared ? 0 : 1);
  return times !== 0 && fault.injected >= times;
}

function matches(fault: Fault, request: IncomingMessage, namedOnly: boolean): boolean {
  const { method, path } = fault.match ?? {};
  if (method !== undefined && method.toUpperCase() !== request.method) return false;
  if (path === undefined) return !namedOnly;
  const url = request.url ?? '/';
  const pathname = url.split('?', 1)[0] ?? url;
  const expression = expressionIn(path);
  if (expression === undefined) return url.includes(path);
  return expression.test(pathname) || expression.test(url);
}

/** `/machines/` is a part of a path, `/machines$/` an expression: only what has a metacharacter is one. */
function expressionIn(path: string): RegExp | undefined {
  const pattern = /^\/(.*[\\^$.|?*+()[\]{}].*)\/$/.exec(path)?.[1];
  return pattern === undefined ? undefined : new RegExp(pattern);
}

function parseFault(value: unknown): Fault {
  if (typeof value !== 'object' || value === null) throw new Error('a fault is a JSON object');
  const fault = value as Fault; // each field that is used is checked here
  if (!faultModes.includes(fault.mode)) {
    throw new Error(`mode must be one of ${faultModes.join(', ')}`);
  }
  for (const name of ['times', 'status', 'delayMs', 'retryAfter'] as const) {
    const number = fault[name];
    if (number !== undefined && (!Number.isInteger(number) || number < 0)) {
      throw new Error(`${name} must be a whole number`);
    }
  }
  if (fault.mode === 'delay' && fault.delayMs === undefined) throw new Error('delay needs delayMs');
  for (const name of ['method', 'path', 'body'] as const) {
    const text = fault.match?.[name];
    if (text !== undefined && typeof text !== 'string') throw new Error(`match.${name} must be text`);
  }
  expressionIn(fault.match?.path ?? ''); // a bad expression is refused here, not at the first request
  return fault;
}
