import type { EndpointRecord } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import { allows } from '../rules/scopes.js';
import type { Caller } from './operation.js';

/** Every call passes here: operators' routes are theirs, and a session may do what its scopes say. Runtimes have no scopes; what they may do is in their routes. */
export const requireScope = (endpoint: EndpointRecord, caller: Caller | null): void => {
  if (endpoint.auth === 'operator' && !(caller?.type === 'user' && caller.isOperator))
    throw new ApiError('operator_required');
  if (caller?.type === 'user' && !allows(caller.scopes, endpoint))
    throw new ApiError('scope_required', `This session lacks the scope ${endpoint.scope ?? '*'}.`);
};
