import { createHash } from 'node:crypto';
import { ApiError } from '../contract/errors.js';
import type { Call } from '../operations/operation.js';

type KeyedRequest = NonNullable<Call<'agents.create'>['idempotency']>;

const valid = /^[\x21-\x7e]{1,255}$/;

interface Keyed {
  header: string;
  principal: string;
  endpointId: string;
  params: unknown;
  body: unknown;
}

/** The Idempotency-Key of a request with what it was asked for; undefined when there is none. The same key with other input is a fault of the caller. */
export const keyedRequest = ({ header, principal, endpointId, params, body }: Keyed): KeyedRequest | undefined => {
  if (header === '') return undefined;
  if (!valid.test(header))
    throw new ApiError('invalid_request', 'The Idempotency-Key must be 1 to 255 visible characters.');
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([params, body] satisfies unknown[]))
    .digest();
  return { principal, endpoint: endpointId, key: header, fingerprint };
};
