import { z } from 'zod';

/** ISO 8601 UTC with milliseconds (spec.md 2). */
export const Timestamp = z.iso.datetime({ precision: 3 }).describe('ISO 8601, UTC, with milliseconds');

/** Ids carry their kind and sort by time: `<kind>_` and a ULID in lower case. */
export const idPrefixes = {
  user: 'usr',
  agent: 'agt',
  job: 'job',
  runtime: 'rt',
  runtimeSession: 'ses',
  session: 'ses',
  deviceLogin: 'dev',
  auditEvent: 'aud',
  gatewayToken: 'gwt',
} as const;
export type IdKind = keyof typeof idPrefixes;

const ulidPattern = '[0-7][0-9a-hjkmnp-tv-z]{25}';
export const Id = (kind: IdKind) =>
  z
    .string()
    .regex(new RegExp(`^${idPrefixes[kind]}_${ulidPattern}$`), `not an id of the form ${idPrefixes[kind]}_…`)
    .meta({ example: `${idPrefixes[kind]}_01jd0000000000000000000000` });

/** A number in a query string; out of its range is an error, never clamped. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined });

export const Page = {
  limit: wholeNumber(1, 100).optional().describe('How many at most, 1 to 100; 50 unless told'),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be a cursor of an earlier answer')
    .optional()
    .describe('`nextCursor` of the page before'),
};

export const NextCursor = z.string().nullable().describe('The next page; null on the last');

const MAX_JSON_DEPTH = 8;
const MAX_JSON_BYTES = 16 * 1024;

const depthOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  // No spread: an object may have more keys than a call may have arguments.
  return 1 + Object.values(value).reduce<number>((deepest, item) => Math.max(deepest, depthOf(item)), 0);
};

/** A free JSON object such as `channels`: at most 16 KiB and 8 levels deep. */
export const FreeObject = z
  .record(z.string(), z.unknown())
  .refine((value) => depthOf(value) <= MAX_JSON_DEPTH, `must not be deeper than ${MAX_JSON_DEPTH} levels`)
  .refine(
    (value) => new TextEncoder().encode(JSON.stringify(value)).length <= MAX_JSON_BYTES,
    `must not be larger than ${MAX_JSON_BYTES} bytes`,
  );

/** Text a person wrote: no control characters besides tab and line breaks. */
export const Text = (max: number) =>
  z
    .string()
    .max(max)
    // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
    .regex(/^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$/, 'must not hold control characters');

export const Name = (max: number) =>
  Text(max).refine((name) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(name), 'must not be empty');
