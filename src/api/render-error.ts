import type { ParameterizedContext, Next } from 'koa';
import { ApiError, errorCodes } from '../contract/errors.js';
import type { Problem } from '../contract/shapes/problem.js';
import type { Log } from '../telemetry/log.js';
import type { RequestState } from './context.js';

/** An error as problem+json (RFC 9457). */
export const toProblem = (error: ApiError, instance: string, requestId: string): Problem => ({
  type: 'about:blank',
  title: errorCodes[error.code].title,
  status: error.status,
  detail: error.message,
  instance,
  code: error.code,
  requestId,
  ...(error.extra.errors ? { errors: error.extra.errors } : {}),
  ...(error.extra.job ? { job: error.extra.job } : {}),
});

const headersOf = (error: ApiError): Record<string, string> => ({
  ...(error.status === 401 ? { 'WWW-Authenticate': challengeOf(error) } : {}),
  ...(error.code === 'unavailable' || error.code === 'rate_limited'
    ? { 'Retry-After': String(error.extra.retryAfterSeconds ?? 2) }
    : {}),
  // The rest of a body that is too large is not worth reading.
  ...(error.code === 'payload_too_large' ? { Connection: 'close' } : {}),
  ...error.extra.headers,
});

/** RFC 6750: the error parameter only when a token was sent. */
const challengeOf = (error: ApiError): string =>
  error.code === 'token_expired' || error.code === 'token_reused' || error.extra.tokenSent === true
    ? 'Bearer error="invalid_token"'
    : 'Bearer';

/** The only renderer of errors: ours as they are, any other as `internal` with nothing of its text. */
export const renderErrors =
  (log: Log) =>
  async (ctx: ParameterizedContext<RequestState>, next: Next): Promise<void> => {
    try {
      await next();
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : new ApiError('internal', 'Something went wrong on our side.');
      // Not of the request: that one is done with as soon as its body was read. A caller who left is no fault of ours.
      if (error !== thrown && !ctx.res.closed)
        log.error({ requestId: ctx.state.requestId, err: describe(thrown) }, 'unexpected error');
      ctx.status = error.status;
      ctx.set({ 'Cache-Control': 'no-store', ...headersOf(error) });
      ctx.type = 'application/problem+json';
      ctx.body = JSON.stringify(toProblem(error, ctx.path, ctx.state.requestId));
    }
  };

const describe = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
