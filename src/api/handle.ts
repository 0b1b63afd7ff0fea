import type { EndpointRecord } from '../contract/endpoint.js';
import type { endpoints } from '../contract/index.js';
import { operations, whileDatabaseAnswers } from '../operations/index.js';
import type { AnyAnswer, Call, Caller, Deps } from '../operations/operation.js';
import { requireScope } from '../operations/require-scope.js';
import type { Authenticate } from './authenticate.js';
import { keyedRequest } from './idempotency.js';
import { waitSeconds } from './prefer.js';
import type { LimitRate } from './rate-limit.js';
import { readJson } from './read-json.js';
import { type Ctx, send, untilLeft } from './send.js';
import { parseBody, parseParams, parseQuery } from './validate.js';

export interface Guards {
  authenticate: Authenticate;
  limitRate: LimitRate;
}

/** Whose budget and whose idempotency keys. */
const principalOf = (caller: Caller | null, address: string): string => {
  if (caller === null) return `address:${address}`;
  return caller.type === 'user' ? `user:${caller.userId}` : `runtime:${caller.runtimeId}`;
};

/** Where the request came from; an IPv4 address reads the same whichever socket it came through. */
const addressOf = (ctx: Ctx): string => ctx.ip.replace(/^::ffff:/, '');

/** Who calls, within the budget of whoever it is: a flood of bad tokens counts against its address. */
const admit = async (ctx: Ctx, endpoint: EndpointRecord, { authenticate, limitRate }: Guards) => {
  const recognize = () => authenticate(endpoint.auth, ctx.get('authorization'));
  const caller = await whileDatabaseAnswers(recognize).catch(async (error: unknown) => {
    await limitRate(ctx, endpoint, principalOf(null, addressOf(ctx)));
    throw error;
  });
  if (caller) ctx.state.caller = caller;
  const principal = principalOf(caller, addressOf(ctx));
  await limitRate(ctx, endpoint, principal);
  requireScope(endpoint, caller);
  return { caller, principal };
};

/** What happens to every request of an endpoint: admit, read, decide, answer. */
export const handle = (endpoint: (typeof endpoints)[number], deps: Deps, guards: Guards) => async (ctx: Ctx) => {
  const record: EndpointRecord = endpoint;
  ctx.state.endpointId = endpoint.id;
  const { caller, principal } = await admit(ctx, record, guards);
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
    address: addressOf(ctx),
    idempotency: keyedRequest({ header, principal, endpointId: endpoint.id, params, body }),
    waitMs: seconds * 1_000,
    lastEventId: Number(ctx.get('last-event-id')) || 0,
    get signal() {
      return untilLeft(ctx);
    },
  } satisfies Record<keyof Call<'jobs.get'>, unknown>;
  // The record's schemas have just checked every part; the compiler cannot follow the id through the table.
  const operation = operations[endpoint.id] as (deps: Deps, call: unknown) => Promise<AnyAnswer>;
  await send(ctx, deps, record, await whileDatabaseAnswers(() => operation(deps, call)), seconds);
};
