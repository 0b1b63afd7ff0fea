import type { z } from 'zod';
import type { ErrorCode } from './errors.js';
import type { JobKind } from './shapes/job.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
export type Auth = 'none' | 'user' | 'operator' | 'runtime' | 'gateway';
export type Scope = '*' | 'read' | 'agents' | 'billing' | 'spend:approve' | 'runtime';

/** One endpoint. Router, validation, OpenAPI, clients and the table-driven tests derive from it; nothing else declares a path or a field. */
export interface EndpointRecord {
  /** Also the task action id and the name of the operation's file. */
  id: string;
  http: `${Method} /api/${string}`;
  auth: Auth;
  /** What a session needs besides being authenticated. */
  scope?: Scope;
  title: string;
  about: string;
  /** Absent parts accept nothing. A strict object refuses unknown fields, a plain one ignores them (routes that machines call). */
  input: { params?: z.ZodObject; query?: z.ZodObject; body?: z.ZodType };
  output: Readonly<Record<number, z.ZodType>>;
  /** Codes beyond those every endpoint may answer (see commonErrors). */
  errors: readonly ErrorCode[];
  /** Absent = finished inside the request. */
  job?: JobKind;
  /** Honours `Prefer: wait` without starting a job. */
  waits?: true;
  effect: 'read' | 'write' | 'destroy' | 'spend';
  /** Honours `Idempotency-Key`: it creates something or starts a job. */
  keyed?: true;
  /** The answer holds a secret: never stored for replay, never cached. */
  secretOutput?: true;
  /** Answers with Server-Sent Events whose data is the output. */
  events?: true;
  /** What clients call it; false = not offered there. */
  names: { tool: string | false; command: string | false; task: string | false };
}

export const endpoint = <const E extends EndpointRecord>(record: E): E => record;

/** Splits `http` into its parts. */
export const methodAndPath = (record: Pick<EndpointRecord, 'http'>): [Method, string] => {
  const at = record.http.indexOf(' ');
  return [record.http.slice(0, at) as Method, record.http.slice(at + 1)]; // `http` is typed `${Method} /api/…`
};

/** Errors that an endpoint may answer because of what it is, not of what it does. */
export const commonErrors = (record: EndpointRecord): ErrorCode[] => [
  'invalid_request',
  ...(record.auth === 'none' ? [] : (['unauthenticated'] as const)),
  ...(record.auth === 'operator' ? (['operator_required'] as const) : []),
  ...(record.scope === undefined ? [] : (['scope_required'] as const)),
  ...(record.input.params === undefined ? [] : (['not_found'] as const)),
  ...(record.keyed === undefined ? [] : (['idempotency_key_reused'] as const)),
  ...(record.keyed && record.secretOutput ? (['conflict'] as const) : []),
  ...(record.input.body === undefined ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
  'rate_limited',
  'internal',
  'unavailable',
];
