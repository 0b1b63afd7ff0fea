import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../local/postgres/start.js';
import { freePort } from '../local/process/ports.js';
import { startTemporal } from '../local/temporal/start.js';
import { type Db, makeDb } from '../src/db/knex.js';
import { migrate } from '../src/db/migrate.js';

export interface Ground {
  databaseUrl: string;
  temporalAddress: string;
  db: Db;
  /** Settings of an API on this ground. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** PostgreSQL with its durable defaults and Temporal in memory: what both sides of a comparison stand on. */
export const prepareGround = async (issuerUrl: string, audience: string): Promise<Ground> => {
  const dir = await mkdtemp(join(tmpdir(), 'acp-bench-'));
  await chmod(dir, 0o711); // the database's account must get through when we are root
  const [postgres, temporal] = await Promise.all([
    startPostgres({ dir: join(dir, 'postgres'), port: await freePort(), logFile: join(dir, 'postgres.log') }),
    startTemporal({ port: await freePort(), logFile: join(dir, 'temporal.log') }),
  ]);
  const db = makeDb({ url: postgres.url, name: 'acp-bench' });
  await migrate(db);
  const port = await freePort();
  return {
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    db,
    env: {
      DATABASE_URL: postgres.url,
      TEMPORAL_ADDRESS: temporal.address,
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      LOG_LEVEL: 'info',
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      OIDC_ISSUER: issuerUrl,
      OIDC_AUDIENCE: audience,
      RATE_LIMITS: 'off',
    },
    close: async () => {
      await db.destroy();
      await Promise.all([postgres.stop(), temporal.stop()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
};
