import Router, { type RouterMiddleware } from '@koa/router';
import { methodAndPath } from '../contract/endpoint.js';
import { ApiError } from '../contract/errors.js';
import { endpoints } from '../contract/index.js';
import type { Deps } from '../operations/operation.js';
import type { RequestState } from './context.js';
import { type Guards, handle } from './handle.js';

type Step = RouterMiddleware<RequestState>;

/** `/api/agents/agt_…` → `agents`: a router looks at each of its routes for each request, so every resource has its own. */
const resourceOf = (path: string): string => path.split('/', 3)[2] ?? '';

/** The routers of the whole table, and what answers when nothing in it fits. */
export const mount = (deps: Deps, guards: Guards): Step[] => {
  const routers = new Map<string, Router<RequestState>>();
  const methodsOf = new Map<string, string[]>();
  for (const endpoint of endpoints) {
    const [method, path] = methodAndPath(endpoint);
    methodsOf.set(path, [...(methodsOf.get(path) ?? []), method]);
    const router = routers.get(resourceOf(path)) ?? new Router<RequestState>();
    router.register(path, [method], handle(endpoint, deps, guards) as Step);
    routers.set(resourceOf(path), router);
  }
  const steps = new Map([...routers].map(([resource, router]) => [resource, router.routes() as Step]));
  const route: Step = (ctx, next) => {
    const step = steps.get(resourceOf(ctx.path));
    return step ? step(ctx, next) : next();
  };
  const unmatched: Step = (ctx) => {
    const known = routers.get(resourceOf(ctx.path))?.match(ctx.path, ctx.method).path[0];
    if (!known) throw new ApiError('not_found', 'There is no such route.');
    const allow = (methodsOf.get(String(known.path)) ?? []).join(', ');
    throw new ApiError('method_not_allowed', `This route takes ${allow}.`, { headers: { Allow: allow } });
  };
  return [route, unmatched];
};
