import type { Next, ParameterizedContext } from 'koa';

export interface Health {
  /** Throws when the database does not answer. */
  askDatabase(): Promise<void>;
  isTemporalReachable(): Promise<boolean>;
}

/** `/healthz` = the process runs. `/readyz` = the database answers; says whether Temporal does, and is ready without it: reads go on and writes are kept for later. */
export const serveHealth = (health: Health) => {
  const answerReady = async (ctx: ParameterizedContext): Promise<void> => {
    const [database, temporal] = await Promise.all([
      health.askDatabase().then(
        () => true,
        () => false,
      ),
      health.isTemporalReachable(),
    ]);
    ctx.status = database ? 200 : 503;
    if (!database) ctx.set('Retry-After', '2');
    ctx.body = { ready: database, database, temporal };
  };
  return (ctx: ParameterizedContext, next: Next): Promise<void> | void => {
    if (ctx.path !== '/healthz' && ctx.path !== '/readyz') return next();
    ctx.set('Cache-Control', 'no-store');
    if (ctx.path === '/readyz') return answerReady(ctx);
    ctx.body = { ok: true };
  };
};
