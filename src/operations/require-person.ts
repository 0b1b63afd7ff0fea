import { ApiError } from '../contract/errors.js';
import type { UserCaller } from './operation.js';

/** Refuses named tokens where sessions are opened: what a leaked one had made would outlive its revocation. */
export const requirePerson = (caller: UserCaller): void => {
  if (caller.isAutomation)
    throw new ApiError('forbidden', 'A named token cannot open sessions or make tokens: sign in to do that.');
};
