import { timingSafeEqual } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import type { Provider } from 'oidc-provider';
import getRawBody from 'raw-body';
import { loginPage, messagePage } from './login-page.js';
import type { Users } from './provider.js';
import { subjectOf, type LocalUser } from './users.js';

/** The login form, shown and taken at `/interaction/:uid`, and a front page. Everything else is the provider's. */
export const loginRoutes =
  (provider: Provider, users: Users): Middleware =>
  async (ctx, next) => {
    if (ctx.path === '/') show(ctx, messagePage('Identity provider', `of the local world: ${provider.issuer}`));
    else if (!ctx.path.startsWith('/interaction/')) await next();
    else if (ctx.method === 'POST') await takeLogin(ctx, provider, await users());
    else await showLogin(ctx, provider);
  };

async function showLogin(ctx: Context, provider: Provider): Promise<void> {
  try {
    const { params } = await provider.interactionDetails(ctx.req, ctx.res);
    const hint = params['login_hint'];
    show(ctx, loginPage(typeof hint === 'string' ? hint : ''));
  } catch {
    ctx.status = 400;
    show(ctx, messagePage('This sign-in is over', 'Go back to the application and start again.'));
  }
}

async function takeLogin(ctx: Context, provider: Provider, users: readonly LocalUser[]): Promise<void> {
  const form = new URLSearchParams(await getRawBody(ctx.req, { limit: '8kb', encoding: 'utf8' }));
  const email = form.get('email')?.trim().toLowerCase() ?? '';
  const user = users.find((one) => one.email === email);
  if (!user || !same(user.password, form.get('password') ?? '')) {
    ctx.status = 401;
    return show(ctx, loginPage(email, 'No user has this address and password.'));
  }
  const result = { login: { accountId: subjectOf(user), amr: ['pwd'] } };
  ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result));
  ctx.status = 303;
}

function show(ctx: Context, html: string): void {
  ctx.type = 'html';
  ctx.set('Cache-Control', 'no-store');
  ctx.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  ctx.body = html;
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
