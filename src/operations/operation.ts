import type { AnswerOf, BodyOf, EndpointId, EndpointOf, ParamsOf, QueryOf, StatusOf } from '../contract/index.js';
import type { SessionScope } from '../contract/shapes/session.js';
import type { Job as JobResource, Requester } from '../contract/shapes/job.js';
import type { Db } from '../db/knex.js';
import type { Jobs } from '../jobs/index.js';
import type { KeyedRequest } from '../models/idempotency-key.js';
import type { KeyRing } from '../models/key-ring.js';
import type { Plans } from '../plans.js';
import type { Log } from '../telemetry/log.js';
import type { Ids, ViewName } from './views.js';

/** What operations are made of; handed in by server.ts. */
export interface Deps {
  db: Db;
  jobs: Jobs;
  keys: KeyRing;
  plans: Plans;
  installationId: string;
  /** Where people reach the service. */
  publicUrl: string;
  log: Log;
}

export interface UserCaller {
  type: 'user';
  userId: string;
  isOperator: boolean;
  /** The session of a token of ours; null = a bearer of the identity provider. */
  sessionId: string | null;
  /** The session is a named token: a program's, with nobody in front of it. */
  isAutomation: boolean;
  scopes: readonly SessionScope[];
}

export interface RuntimeCaller {
  type: 'runtime';
  runtimeId: string;
  agentId: string;
  userId: string;
  sessionId: string;
}

export type Caller = UserCaller | RuntimeCaller;

type CallerFor<Auth> = Auth extends 'user' | 'operator' ? UserCaller : Auth extends 'runtime' ? RuntimeCaller : null;

export interface Call<Id extends EndpointId> {
  caller: CallerFor<EndpointOf<Id>['auth']>;
  params: ParamsOf<Id>;
  query: QueryOf<Id>;
  body: BodyOf<Id>;
  requestId: string;
  /** Where the request came from. */
  address: string;
  /** What of the address counts as one caller: an IPv6 customer has a whole network. */
  network: string;
  /** `Idempotency-Key`, of endpoints that honour it. */
  idempotency: KeyedRequest | undefined;
  /** Milliseconds that the caller wants to wait for a job (`Prefer: wait`), 0 = not at all. */
  waitMs: number;
  /** Id of the last event seen (`Last-Event-ID`). */
  lastEventId: number;
  /** Aborts when the caller has left. */
  signal: AbortSignal;
}

/** An answer that is rendered from ids when it is sent: after a wait, or again for a repeated request, it tells how things stand then. */
export interface Rendered<Status extends number = number> {
  status: Status;
  view: ViewName;
  ids: Ids;
  /** It was given before, to the same Idempotency-Key. */
  isReplay?: boolean;
  /** The operation has waited for the job already. */
  hasWaited?: true;
  /** The same made of the rows in hand, sent when nothing was waited for. */
  now?: unknown;
}

export interface JobEvent {
  id: number;
  job: JobResource;
}

/** An answer that goes on: the job at each change. */
export interface Streamed {
  status: 200;
  events: AsyncIterable<JobEvent>;
}

export type Answer<Id extends EndpointId> =
  | (AnswerOf<Id> & { hasWaited?: true })
  | Rendered<StatusOf<Id>>
  | (EndpointOf<Id> extends { events: true } ? Streamed : never);

/** What the API sees of any endpoint's answer. */
export type AnyAnswer = { status: number; body: unknown; hasWaited?: true } | Rendered | Streamed;

/** One endpoint's work: decides, writes one transaction, starts a job. Knows nothing of HTTP but the status. */
export type Operation<Id extends EndpointId> = (deps: Deps, call: Call<Id>) => Promise<Answer<Id>>;

export const asRequester = (caller: Caller): Requester =>
  caller.type === 'user' ? { type: 'user', id: caller.userId } : { type: 'runtime', id: caller.runtimeId };
