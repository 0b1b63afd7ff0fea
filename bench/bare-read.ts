import Router from '@koa/router';
import Koa from 'koa';
import pg from 'pg';

/** The bare thing that GET /api/agents/:id is measured against: Koa, a router, the same one query, no more. */
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const router = new Router();
router.get('/api/agents/:id', async (ctx) => {
  const { rows } = await pool.query('select * from agents where user_id = $1 and deleted_at is null and id = $2', [
    process.env['BENCH_USER'],
    ctx.params['id'],
  ]);
  ctx.body = rows[0];
});
new Koa().use(router.routes()).listen(Number(process.env['PORT']), '127.0.0.1');
