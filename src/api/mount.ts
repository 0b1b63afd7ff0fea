import Router, { type RouterMiddleware } from '@koa/router';
import type { ParameterizedContext } from 'koa';
import { type EndpointRecord, methodAndPath } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import { endpoints } from '../contract/index.js';
import { operations, whileDatabaseAnswers } from '../operations/index.js';
import type { AnyAnswer, Call, Deps, Rendered } from '../operations/operation.js';
import { views } from '../operations/views.js';
import type { Authenticate } from './authenticate.js';
import type { RequestState } from './context.js';
import { sendEvents } from './events.js';
import { waitSeconds } from './prefer.js';
import { readJson } from './read-json.js';
import { parseBody, parseParams, parseQuery, requireOutput } from './validate.js';

type Ctx = ParameterizedContext<RequestState> & { params: Record<string, string> };

/** Aborts when the caller has gone before the answer was sent. */
const untilLeft = (ctx: Ctx): AbortSignal => {
  const left = new AbortController();
  if (ctx.res.closed) left.abort(); // gone already, while the caller was being recognised
  ctx.res.once('close', () => left.abort());
  return left.signal;
};

const send = (ctx: Ctx, endpoint: EndpointRecord, status: number, body: unknown): void => {
  requireOutput(endpoint, status, body);
  ctx.status = status;
  ctx.res.setHeader('Cache-Control', 'no-store');
  ctx.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  ctx.body = JSON.stringify(body);
};

/** Waits for the job if the caller prefers so, then renders the rows as they stand. */
const sendRendered = async (
  ctx: Ctx,
  deps: Deps,
  endpoint: EndpointRecord,
  answer: Rendered,
  seconds: number,
): Promise<void> => {
  const { jobId } = answer.ids;
  let { status, now } = answer;
  if (jobId) {
    ctx.state.jobId = jobId;
    ctx.set('Location', `/api/jobs/${jobId}`);
    if (seconds > 0 && (endpoint.job !== undefined || endpoint.waits === true)) {
      const job = await deps.jobs.watch.untilFinished(jobId, seconds * 1_000, untilLeft(ctx));
      ctx.set('Preference-Applied', `wait=${seconds}`);
      if (job?.isFinished === true) status = 200;
      now = undefined;
    }
  }
  const render = (): Promise<unknown> => views[answer.view](deps.db, answer.ids);
  send(ctx, endpoint, status, now ?? (await whileDatabaseAnswers(render)));
};

const handle = (endpoint: (typeof endpoints)[number], deps: Deps, authenticate: Authenticate) => async (ctx: Ctx) => {
  ctx.state.endpointId = endpoint.id;
  const caller = await whileDatabaseAnswers(() => authenticate(endpoint.auth, ctx.get('authorization')));
  if (caller) ctx.state.caller = caller;
  const seconds = waitSeconds(ctx.get('prefer'));
  const call = {
    caller,
    params: parseParams(endpoint, ctx.params),
    query: parseQuery(endpoint, ctx.querystring),
    body: parseBody(endpoint, await readJson(ctx.req)),
    waitMs: seconds * 1_000,
    lastEventId: Number(ctx.get('last-event-id')) || 0,
    get signal() {
      return untilLeft(ctx);
    },
  };
  // The record's schemas have just checked every part; the compiler cannot follow the id through the table.
  const operation = operations[endpoint.id] as (deps: Deps, call: unknown) => Promise<AnyAnswer>;
  const answer = await whileDatabaseAnswers(() =>
    operation(deps, call satisfies Record<keyof Call<'jobs.get'>, unknown>),
  );
  if ('events' in answer) return sendEvents(ctx, answer.events, deps.log);
  if ('view' in answer) return sendRendered(ctx, deps, endpoint, answer, seconds);
  send(ctx, endpoint, answer.status, answer.body);
};

/** The router of the whole table, and what answers when nothing in it fits. */
export const mount = (deps: Deps, authenticate: Authenticate): RouterMiddleware<RequestState>[] => {
  const router = new Router<RequestState>();
  const methodsOf = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const [method, path] = methodAndPath(endpoint);
    methodsOf.set(path, [...(methodsOf.get(path) ?? []), method]);
    router.register(path, [method], handle(endpoint, deps, authenticate) as RouterMiddleware<RequestState>);
  }
  const unmatched: RouterMiddleware<RequestState> = (ctx) => {
    const [known] = router.match(ctx.path, ctx.method).path;
    if (!known) throw new ApiError('not_found', 'There is no such route.');
    const allow = (methodsOf.get(String(known.path)) ?? []).join(', ');
    throw new ApiError('method_not_allowed', `This route takes ${allow}.`, { headers: { Allow: allow } });
  };
  return [router.routes() as RouterMiddleware<RequestState>, unmatched];
};
