import { Agent, request } from 'undici';
import type { ErrorCode } from '../contract/errors.js';
import { AnswerTooLarge, VendorError } from './vendor-error.js';

export interface Meaning {
  code: ErrorCode;
  /** Whether asking again can help; left to the status unless told. */
  retryable?: boolean;
}

export interface VendorHttpOptions {
  baseUrl: string;
  /** How the vendor is called in messages. */
  vendor: string;
  headers?: Record<string, string>;
  /** Reads out of an error answer what it means, where its status alone does not tell. */
  meaningOf?: (status: number, body: unknown) => Meaning | undefined;
  unreachable: ErrorCode;
}

export interface VendorCall {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Until the whole answer is there; 20 s unless told. */
  timeoutMs?: number;
  /** 4 MiB unless told. */
  maxAnswerBytes?: number;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** At least what the host worker has under way at a time (workers/host.ts): a call that waits for a connection waits within its time-out. */
const CONNECTIONS = 128;
const DEFAULT_TIMEOUT_MS = 20_000;
const retryableStatus = (status: number): boolean => [408, 425, 429].includes(status) || status >= 500;

/** Milliseconds of a Retry-After in seconds; dates are not worth believing from a vendor's clock. */
const retryAfterMs = (header: string | string[] | undefined): number | undefined => {
  const seconds = Number(Array.isArray(header) ? header[0] : header);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 300) * 1_000 : undefined;
};

/** undefined when there is more of it than is read. */
const readBounded = async (body: AsyncIterable<Buffer>, most: number): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** JSON over HTTP to a vendor: bounded in time and size, never retried here (a create could run twice), errors rewritten. */
export class VendorHttp {
  readonly #options: VendorHttpOptions;
  readonly #agent = new Agent({ connect: { timeout: 5_000 }, connections: CONNECTIONS, keepAliveTimeout: 10_000 });

  constructor(options: VendorHttpOptions) {
    this.#options = options;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /** Status and parsed body of a 2xx answer. Throws VendorError otherwise. */
  async call(call: VendorCall): Promise<unknown> {
    const { method, path, query, body, signal } = call;
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxAnswerBytes = MAX_ANSWER_BYTES } = call;
    const what = `${this.#options.vendor} ${method}`;
    // undici's own limits are of silence, and begin anew with every byte.
    const limit = AbortSignal.timeout(timeoutMs);
    let status: number;
    let text: string | undefined;
    let wait: number | undefined;
    try {
      const answer = await request(this.#options.baseUrl + path, {
        method,
        dispatcher: this.#agent,
        headers: {
          ...this.#options.headers,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        ...(query ? { query: definedOnly(query) } : {}),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      status = answer.statusCode;
      wait = retryAfterMs(answer.headers['retry-after']);
      text = await readBounded(answer.body, maxAnswerBytes);
    } catch (error) {
      if (signal?.aborted) throw error;
      // Asked for here, the limit also outlives a garbage collection while the call is under way.
      const within = limit.aborted ? ` within ${timeoutMs / 1_000} s` : '';
      throw new VendorError(this.#options.unreachable, `${what}: no answer${within}`, {
        retryable: true,
        isUnsent: neverConnected(error),
      });
    }
    const parsed = parse(text ?? '');
    if (status >= 400) throw this.#refusal(what, status, parsed, wait);
    if (text === undefined)
      throw new AnswerTooLarge('upstream_failed', `${what}: the answer is too large`, { retryable: true, status });
    if (parsed === undefined && text !== '')
      throw new VendorError('upstream_failed', `${what}: the answer is not JSON`, { retryable: true });
    return parsed;
  }

  #refusal(what: string, status: number, body: unknown, wait: number | undefined): VendorError {
    const meaning = this.#options.meaningOf?.(status, body);
    const retryable = meaning?.retryable ?? retryableStatus(status);
    const code = meaning?.code ?? codeByStatus(status, this.#options.unreachable);
    return new VendorError(code, `${what}: answered ${status}`, { retryable, status, retryAfterMs: wait });
  }
}

const withoutConnection = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

const neverConnected = (error: unknown): boolean => {
  if (error instanceof AggregateError) return error.errors.every(neverConnected); // one for each address
  return error instanceof Error && 'code' in error && withoutConnection.has(String(error.code));
};

const codeByStatus = (status: number, unreachable: ErrorCode): ErrorCode => {
  if (retryableStatus(status)) return unreachable;
  if (status === 401 || status === 403) return 'vendor_misconfigured';
  if (status === 404) return 'not_found';
  if (status === 409 || status === 412) return 'conflict';
  return 'upstream_failed';
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

const definedOnly = (query: Record<string, string | number | undefined>): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(query).filter((entry): entry is [string, string | number] => entry[1] !== undefined),
  );
