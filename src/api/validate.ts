import type { z } from 'zod';
import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError, type FieldError } from '../contract/errors.js';

/** What a caller sent may be part of a message; it is not sent back at length. */
const MESSAGE_LENGTH = 200;

const fieldErrors = (error: z.ZodError, root: string): FieldError[] =>
  error.issues.slice(0, 20).map((issue) => ({
    pointer: [root, ...issue.path.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/'),
    message: issue.message.slice(0, MESSAGE_LENGTH),
  }));

const refuse = (what: string, errors: FieldError[]): ApiError =>
  new ApiError(
    'invalid_request',
    `The ${what} ${errors.length === 1 ? 'has a fault' : 'has faults'}: ${errors.map((error) => `${error.pointer || what}: ${error.message}`).join('; ')}`,
    { errors },
  );

/** Path parameters; an id that cannot exist is a 404 like one that does not. */
export const parseParams = (endpoint: EndpointRecord, params: Record<string, string>): unknown => {
  if (!endpoint.input.params) return undefined;
  const parsed = endpoint.input.params.safeParse(params);
  if (!parsed.success) throw new ApiError('not_found', 'There is no such resource.');
  return parsed.data;
};

/** The query; unknown parameters are ignored, repeated ones refused. */
export const parseQuery = (endpoint: EndpointRecord, querystring: string): unknown => {
  if (querystring === '' && !endpoint.input.query) return undefined;
  const search = new URLSearchParams(querystring);
  const query: Record<string, string> = {};
  for (const [name, value] of search) {
    if (Object.hasOwn(query, name))
      throw refuse('query', [{ pointer: `query/${name}`, message: 'must not be repeated' }]);
    if (value.includes('\u0000')) throw refuse('query', [{ pointer: `query/${name}`, message: 'must not hold NUL' }]);
    Object.defineProperty(query, name, { value, enumerable: true });
  }
  if (!endpoint.input.query) return undefined;
  const parsed = endpoint.input.query.safeParse(query);
  if (!parsed.success) throw refuse('query', fieldErrors(parsed.error, 'query'));
  return parsed.data;
};

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The body. An endpoint that takes none refuses one that says anything, but for what a newer machine may say. */
export const parseBody = (endpoint: EndpointRecord, body: unknown): unknown => {
  if (!endpoint.input.body) {
    const fromMachine = endpoint.auth === 'runtime' || endpoint.auth === 'gateway';
    const isFine = body === undefined || (isObject(body) && (fromMachine || Object.keys(body).length === 0));
    if (!isFine) throw refuse('body', [{ pointer: '', message: 'must be empty' }]);
    return undefined;
  }
  const parsed = endpoint.input.body.safeParse(body);
  if (!parsed.success) throw refuse('body', fieldErrors(parsed.error, ''));
  return parsed.data;
};

/** What is sent must be what the record says, so a column can never leak. Throws an ordinary error: the fault is ours. */
export const requireOutput = (endpoint: EndpointRecord, status: number, body: unknown): void => {
  const schema = endpoint.output[status];
  if (!schema) throw new Error(`${endpoint.id} answered ${status}, which its record does not list`);
  const parsed = schema.safeParse(body);
  if (!parsed.success)
    throw new Error(
      `${endpoint.id} answered ${status} with a wrong shape: ${fieldErrors(parsed.error, '')
        .map((error) => `${error.pointer} ${error.message}`)
        .join('; ')}`,
    );
};
