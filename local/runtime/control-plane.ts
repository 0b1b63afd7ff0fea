import { isSession, type RuntimeSession } from './session-file.js';

/** How the control plane answered: a value, a final no, or a reason to ask again later. */
export type Reply<T> =
  | { kind: 'ok'; value: T }
  | { kind: 'refused'; status: number; code: string }
  | { kind: 'retry'; why: string; afterMs: number | undefined };

export interface ControlPlane {
  /** POST /api/runtime/bootstrap/exchange (spec.md 4.2). */
  exchange(input: {
    runtimeId: string;
    bootstrapToken: string;
    runtimeVersion: string;
  }): Promise<Reply<RuntimeSession>>;
  /** POST /api/runtime/auth/refresh: the next pair, of the same runtime. */
  refresh(refreshToken: string, runtimeId: string): Promise<Reply<RuntimeSession>>;
  /** GET /api/runtime/auth/status: proves that the access token works. */
  status(accessToken: string): Promise<Reply<true>>;
}

const TRY_MS = 10_000;
const RETRYABLE = new Set([408, 425, 429]);

/** A client that never follows redirects: a token goes to the configured origin only. */
export function makeControlPlane(baseUrl: string, stopping: AbortSignal): ControlPlane {
  const call = async (path: string, init: RequestInit): Promise<Reply<unknown>> => {
    try {
      const response = await fetch(baseUrl + path, {
        ...init,
        redirect: 'error',
        signal: AbortSignal.any([stopping, AbortSignal.timeout(TRY_MS)]),
      });
      const text = await response.text();
      if (response.ok) return { kind: 'ok', value: JSON.parse(text) };
      if (response.status < 500 && !RETRYABLE.has(response.status)) {
        return { kind: 'refused', status: response.status, code: codeOf(text) };
      }
      return {
        kind: 'retry',
        why: `status ${response.status}`,
        afterMs: retryAfterMs(response.headers.get('retry-after')),
      };
    } catch (error) {
      return { kind: 'retry', why: reason(error), afterMs: undefined };
    }
  };
  const askForSession = async (path: string, input: unknown, runtimeId: string): Promise<Reply<RuntimeSession>> => {
    const headers = { 'content-type': 'application/json' };
    const reply = await call(path, { method: 'POST', headers, body: JSON.stringify(input) });
    if (reply.kind !== 'ok') return reply;
    const { value } = reply;
    if (isSession(value) && value.runtimeId === runtimeId) return { kind: 'ok', value };
    return { kind: 'retry', why: 'the answer is not a runtime session', afterMs: undefined };
  };
  return {
    exchange: (input) => askForSession('/api/runtime/bootstrap/exchange', input, input.runtimeId),
    refresh: (refreshToken, runtimeId) => askForSession('/api/runtime/auth/refresh', { refreshToken }, runtimeId),
    async status(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` };
      const reply = await call('/api/runtime/auth/status', { headers });
      return reply.kind === 'ok' ? { kind: 'ok', value: true } : reply;
    },
  };
}

/** The stable code of a problem document; nothing else of what was answered is looked at, or logged. */
function codeOf(text: string): string {
  try {
    const code: unknown = Reflect.get(Object(JSON.parse(text)), 'code');
    return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? code : 'unknown';
  } catch {
    return 'unknown';
  }
}

function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header);
  return header !== null && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** The error's code or name, never its message: a message may quote what was sent. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const cause = error.cause;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return error.name;
}
