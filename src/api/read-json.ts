import type { IncomingMessage } from 'node:http';
import rawBody from 'raw-body';
import { ApiError } from '../contract/errors.js';

const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 32;
const MAX_ARRAY = 1_000;
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype']);

const badJson = (message: string, pointer = ''): ApiError =>
  new ApiError('invalid_request', `The body ${message}.`, { errors: [{ pointer, message }] });

/** NUL and halves of surrogate pairs: valid in JSON, and PostgreSQL keeps neither. */
// oxlint-disable-next-line no-control-regex -- control characters are what it finds
const unkeepable = /[\u0000\p{Surrogate}]/u;

const guardText = (text: string): void => {
  if (unkeepable.test(text)) throw badJson('must not hold the character NUL or half a surrogate pair');
};

/** Refuses what no endpoint wants and what has hurt others: deep nesting, long arrays, keys that reach a prototype. */
const guard = (value: unknown, depth: number): void => {
  if (typeof value === 'string') guardText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw badJson('must not hold numbers beyond 64 bits');
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) throw badJson(`must not be deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    if (value.length > MAX_ARRAY) throw badJson(`must not hold arrays longer than ${MAX_ARRAY}`);
    for (const item of value) guard(item, depth + 1);
    return;
  }
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) throw badJson(`must not hold the key ${key}`);
    guardText(key);
    guard(Reflect.get(value, key), depth + 1);
  }
};

const requireJson = (request: IncomingMessage): void => {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (type !== 'application/json' || encoding !== 'identity')
    throw new ApiError('unsupported_media_type', 'Send application/json, not compressed.');
};

const read = async (request: IncomingMessage, limit: number): Promise<Buffer> => {
  try {
    return await rawBody(request, { limit, length: request.headers['content-length'] ?? null });
  } catch (error) {
    const type: unknown = error instanceof Error ? Reflect.get(error, 'type') : undefined;
    if (type === 'entity.too.large') throw new ApiError('payload_too_large', `The body is larger than ${limit} bytes.`);
    throw badJson('did not arrive whole');
  }
};

/** The JSON body of a request; undefined when it is empty. */
export const readJson = async (request: IncomingMessage, limit = MAX_BYTES): Promise<unknown> => {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  if (!hasBody) return undefined;
  const bytes = await read(request, limit);
  if (bytes.length === 0) return undefined;
  requireJson(request);
  let value: unknown;
  try {
    // fatal: bytes that are not UTF-8 are refused, not replaced
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw badJson('is not valid JSON');
  }
  guard(value, 1);
  return value;
};
