import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import type { endpoints } from '../contract/index.js';
import { operations, whileDatabaseAnswers } from '../operations/index.js';
import type { AnyAnswer, Call, Caller, Deps } from '../operations/operation.js';
import { requireScope } from '../operations/require-scope.js';
import { type Authenticate, tokenIn } from './authenticate.js';
import { keyedRequest } from './idempotency.js';
import { waitSeconds } from './prefer.js';
import { originOf } from './network.js';
import type { RateLimits } from './rate-limit.js';
import { readJson } from './read-json.js';
import { type Ctx, send, untilLeft } from './send.js';
import { parseBody, parseParams, parseQuery } from './validate.js';

export interface Guards {
  authenticate: Authenticate;
  limits: RateLimits;
}

/** Whose budget and whose idempotency keys. */
const principalOf = (caller: Caller | null, network: string): string => {
  if (caller === null) return `network:${network}`;
  return caller.type === 'user' ? `user:${caller.userId}` : `runtime:${caller.runtimeId}`;
};

/** Who calls, within the budget of whoever it is: a flood of bad tokens counts against its network, and is not looked up. */
const admit = async (ctx: Ctx, endpoint: EndpointRecord, { authenticate, limits }: Guards) => {
  const authorization = ctx.get('authorization');
  const { address, network } = originOf(ctx.ip, ctx.req.socket.remoteAddress);
  const token = tokenIn(authorization);
  if (endpoint.auth !== 'none') limits.requireFewBadTokens(ctx, network, token);
  const recognize = () => authenticate(endpoint.auth, authorization);
  const caller = await whileDatabaseAnswers(recognize).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401) limits.countBadToken(ctx, network, token);
    throw error;
  });
  if (caller) {
    ctx.state.caller = caller;
    limits.noteGoodToken(token);
  }
  const principal = principalOf(caller, network);
  limits.count(ctx, endpoint, principal);
  requireScope(endpoint, caller);
  /** Whether the bearer is still good, asked anew. Only its refusal counts as no: the database may be away for a while. */
  const isStillAdmitted = () =>
    recognize().then(
      () => true,
      (error: unknown) => !(error instanceof ApiError && error.status === 401),
    );
  return { caller, principal, address, network, isStillAdmitted };
};

/** The access token that an answer gives out: its owner has done no wrong yet, whatever the neighbours do. */
const issuedIn = (answer: AnyAnswer): string | undefined => {
  const { accessToken, token } = 'body' in answer ? (answer.body as Record<string, unknown>) : {};
  return typeof accessToken === 'string' ? accessToken : typeof token === 'string' ? token : undefined;
};

/** What happens to every request of an endpoint: admit, read, decide, answer. */
export const handle = (endpoint: (typeof endpoints)[number], deps: Deps, guards: Guards) => async (ctx: Ctx) => {
  const record: EndpointRecord = endpoint;
  ctx.state.endpointId = endpoint.id;
  const { caller, principal, address, network, isStillAdmitted } = await admit(ctx, record, guards);
  const seconds = waitSeconds(ctx.get('prefer'));
  const params = parseParams(record, ctx.params);
  const query = parseQuery(record, ctx.querystring);
  const body = parseBody(record, await readJson(ctx.req));
  const header = record.keyed === true ? ctx.get('idempotency-key') : '';
  const call = {
    caller,
    params,
    query,
    body,
    requestId: ctx.state.requestId,
    address,
    network,
    idempotency: keyedRequest({ header, principal, endpointId: endpoint.id, params, body }),
    waitMs: seconds * 1_000,
    lastEventId: Number(ctx.get('last-event-id')) || 0,
    get signal() {
      return untilLeft(ctx);
    },
  } satisfies Record<keyof Call<'jobs.get'>, unknown>;
  // The record's schemas have just checked every part; the compiler cannot follow the id through the table.
  const operation = operations[endpoint.id] as (deps: Deps, call: unknown) => Promise<AnyAnswer>;
  const answer = await whileDatabaseAnswers(() => operation(deps, call));
  const issued = issuedIn(answer);
  if (issued !== undefined) guards.limits.noteGoodToken(issued);
  await send(ctx, deps, record, answer, { seconds, isStillAdmitted });
};
