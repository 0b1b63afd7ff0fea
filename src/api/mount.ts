import Router, { type RouterMiddleware } from '@koa/router';
import { methodAndPath } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import { endpoints } from '../contract/index.js';
import type { Deps } from '../operations/operation.js';
import type { RequestState } from './context.js';
import { type Guards, handle } from './handle.js';

/** The router of the whole table, and what answers when nothing in it fits. */
export const mount = (deps: Deps, guards: Guards): RouterMiddleware<RequestState>[] => {
  const router = new Router<RequestState>();
  const methodsOf = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const [method, path] = methodAndPath(endpoint);
    methodsOf.set(path, [...(methodsOf.get(path) ?? []), method]);
    router.register(path, [method], handle(endpoint, deps, guards) as RouterMiddleware<RequestState>);
  }
  const unmatched: RouterMiddleware<RequestState> = (ctx) => {
    const [known] = router.match(ctx.path, ctx.method).path;
    if (!known) throw new ApiError('not_found', 'There is no such route.');
    const allow = (methodsOf.get(String(known.path)) ?? []).join(', ');
    throw new ApiError('method_not_allowed', `This route takes ${allow}.`, { headers: { Allow: allow } });
  };
  return [router.routes() as RouterMiddleware<RequestState>, unmatched];
};
