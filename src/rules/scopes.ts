import type { Scope } from '../contract/endpoint.js';
import type { SessionScope } from '../contract/shapes/session.js';

interface Asked {
  /** The area; absent = any session will do. */
  scope?: Scope | undefined;
  effect: 'read' | 'write' | 'destroy' | 'spend';
  /** The answer holds a secret, which reading alone does not entitle to. */
  secretOutput?: boolean | undefined;
}

/** Whether a session with these scopes may call an endpoint: by `*`, by its area, or by `read` when it only reads. */
export const allows = (granted: readonly SessionScope[], { scope, effect, secretOutput = false }: Asked): boolean => {
  if (scope === undefined || granted.includes('*')) return true;
  if (scope === '*') return false;
  if (granted.includes(scope)) return true;
  return effect === 'read' && !secretOutput && granted.includes('read');
};

/** Whether somebody with `own` scopes may hand out `asked`: never more than they have themselves. */
export const mayGrant = (own: readonly SessionScope[], asked: readonly SessionScope[]): boolean =>
  own.includes('*') || asked.every((scope) => own.includes(scope));
