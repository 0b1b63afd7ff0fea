import type { z } from 'zod';
import { agentMachine } from './endpoints/agent-machine.js';
import { agents } from './endpoints/agents.js';
import { audit } from './endpoints/audit.js';
import { auth } from './endpoints/auth.js';
import { jobs } from './endpoints/jobs.js';
import { operator } from './endpoints/operator.js';
import { runtime } from './endpoints/runtime.js';
import { users } from './endpoints/users.js';

/** Every endpoint of the service, once. */
export const endpoints = [
  ...auth,
  ...users,
  ...agents,
  ...agentMachine,
  ...jobs,
  ...runtime,
  ...audit,
  ...operator,
] as const;

export type Endpoint = (typeof endpoints)[number];
export type EndpointId = Endpoint['id'];
export type EndpointOf<Id extends EndpointId> = Extract<Endpoint, { id: Id }>;

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type PartOf<Input, Key extends string> = Input extends Record<Key, infer Schema> ? Parsed<Schema> : undefined;

export type ParamsOf<Id extends EndpointId> = PartOf<EndpointOf<Id>['input'], 'params'>;
export type QueryOf<Id extends EndpointId> = PartOf<EndpointOf<Id>['input'], 'query'>;
export type BodyOf<Id extends EndpointId> = PartOf<EndpointOf<Id>['input'], 'body'>;

type Outputs<Id extends EndpointId> = EndpointOf<Id>['output'];
export type StatusOf<Id extends EndpointId> = keyof Outputs<Id> & number;
/** Status and body, one member for each status the record lists. */
export type AnswerOf<Id extends EndpointId> = {
  [Status in StatusOf<Id>]: { status: Status; body: Parsed<Outputs<Id>[Status]> };
}[StatusOf<Id>];
