import { ApiError } from '../contract/errors.js';

/** Why a refresh token got no pair. */
export const refusedRefresh = (outcome: 'unknown' | 'expired' | 'reused'): ApiError => {
  if (outcome === 'expired') return new ApiError('token_expired', 'The refresh token has expired: sign in again.');
  if (outcome === 'reused')
    return new ApiError(
      'token_reused',
      'The refresh token was used before: the session has been ended, sign in again.',
    );
  return new ApiError('unauthenticated', 'The refresh token is not valid here.', { tokenSent: true });
};
