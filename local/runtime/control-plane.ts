import { isSession, type RuntimeSession } from './session-file.js';

/** How the control plane answered: a value, a final no, or a reason to ask again later. */
export type Reply<T> =
  | { kind: 'ok'; value: T }
  | { kind: 'refused'; status: number }
  | { kind: 'retry'; why: string; afterMs: number | undefined };

export interface ControlPlane {
  /** POST /api/runtime/bootstrap/exchange (spec.md 4.2). */
  exchange(input: {
    runtimeId: string;
    bootstrapToken: string;
    runtimeVersion: string;
  }): Promise<Reply<RuntimeSession>>;
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
        return { kind: 'refused', status: response.status };
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
  return {
    async exchange(input) {
      const reply = await call('/api/runtime/bootstrap/exchange', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      });
      if (reply.kind !== 'ok') return reply;
      const { value } = reply;
      if (isSession(value) && value.runtimeId === input.runtimeId) return { kind: 'ok', value };
      return { kind: 'retry', why: 'the answer is not a runtime session', afterMs: undefined };
    },
    async status(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` };
      const reply = await call('/api/runtime/auth/status', { headers });
      return reply.kind === 'ok' ? { kind: 'ok', value: true } : reply;
    },
  };
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
