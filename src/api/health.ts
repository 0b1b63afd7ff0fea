import type { Next, ParameterizedContext } from 'koa';

export interface Health {
  /** Throws when the database does not answer. */
  askDatabase(): Promise<void>;
  isTemporalReachable(): Promise<boolean>;
}

const SHARED_MS = 1_000;

/** `/healthz` = the process runs. `/readyz` = the database answers; says whether Temporal does, and is ready without it: reads go on and writes are kept for later. */
export const serveHealth = (health: Health) => {
  let looked: { at: number; answer: Promise<[database: boolean, temporal: boolean]> } | undefined;
  /** Everybody who asks within a second shares one look: the question must not be a load. */
  const look = () => {
    if (looked === undefined || performance.now() - looked.at > SHARED_MS) {
      const database = health.askDatabase().then(
        () => true,
        () => false,
      );
      looked = { at: performance.now(), answer: Promise.all([database, health.isTemporalReachable()]) };
    }
    return looked.answer;
  };
  const answerReady = async (ctx: ParameterizedContext): Promise<void> => {
    const [database, temporal] = await look();
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
