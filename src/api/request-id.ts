import { randomUUID } from 'node:crypto';
import type { Next, ParameterizedContext } from 'koa';
import type { Log } from '../telemetry/log.js';
import type { RequestState } from './context.js';

const sane = /^[A-Za-z0-9._-]{1,128}$/;
/** A token of ours or a JWT, sent as a name by mistake: names are kept in the log and in the audit trail. */
const likeToken = /acp_|^[^.]+\.[^.]+\.[^.]+$/;

/** The path of an unknown route may hold anything, a token in the wrong place among it: long parts are not logged. */
const withoutTokens = (path: string): string => path.replaceAll(/acp_[^/]*|[^/]{20,}/g, '…').slice(0, 120);

/** Names every request (the caller's name, if it sent a sane one) and writes one log line when it is answered. */
export const identifyAndLog =
  (requests: Log) =>
  async (ctx: ParameterizedContext<RequestState>, next: Next): Promise<void> => {
    const sent = ctx.get('x-request-id');
    const requestId = sane.test(sent) && !likeToken.test(sent) ? sent : randomUUID();
    ctx.state.requestId = requestId;
    ctx.set('X-Request-Id', requestId);
    const began = performance.now();
    ctx.res.once('close', () => {
      const { endpointId, caller, jobId } = ctx.state;
      requests.info(
        {
          requestId,
          method: ctx.method,
          route: endpointId ?? withoutTokens(ctx.path),
          status: ctx.res.statusCode,
          ms: Math.round((performance.now() - began) * 10) / 10,
          userId: caller?.userId,
          runtimeId: caller?.type === 'runtime' ? caller.runtimeId : undefined,
          jobId,
          complete: ctx.res.writableFinished,
        },
        'request',
      );
    });
    await next();
  };
