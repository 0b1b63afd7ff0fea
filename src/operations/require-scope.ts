import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import { allows } from '../rules/scopes.js';
import type { Caller } from './operation.js';

/** Every call passes here: a session may do what its scopes say, and no more. Runtimes have no scopes; what they may do is in their routes. */
export const requireScope = (endpoint: EndpointRecord, caller: Caller | null): void => {
  if (caller?.type === 'user' && !allows(caller.scopes, endpoint))
    throw new ApiError('scope_required', `This session lacks the scope ${endpoint.scope ?? '*'}.`);
};
