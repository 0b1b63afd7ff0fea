import { once } from 'node:events';
import type { Server } from 'node:http';
import { makeApp, makeServer } from './api/app.js';
import { BadConfig, type Config, readConfig } from './config.js';
import { askDatabase, makeDb } from './db/knex.js';
import { requireSchema } from './db/migrate.js';
import { Jobs } from './jobs/index.js';
import { countOrphans } from './models/host-orphan.js';
import { KeyRing } from './models/key-ring.js';
import { recognizeSession } from './operations/auth/recognize.js';
import { recognizeRuntime } from './operations/runtime/recognize.js';
import { recognize } from './operations/users/recognize.js';
import { readPlans } from './plans.js';
import { makeOidc } from './providers/identity/oidc.js';
import { type Log, makeLog, makeRequestLog } from './telemetry/log.js';
import { gauge, serveMetrics } from './telemetry/metrics.js';

const DRAIN_MS = 10_000;

/** Calls through now and then: one line of many like it says enough. */
const atMostEvery = (ms: number, tell: (error: unknown) => void): ((error: unknown) => void) => {
  let silentUntil = 0;
  return (error) => {
    if (Date.now() < silentUntil) return;
    silentUntil = Date.now() + ms;
    tell(error);
  };
};

/** Wires the API together. The caller listens and closes. */
export const makeApi = (config: Config<'api'>, log: Log) => {
  const db = makeDb({ url: config.DATABASE_URL, max: config.DATABASE_POOL, name: 'acp-api' });
  const jobs = new Jobs({
    db,
    databaseUrl: config.DATABASE_URL,
    temporal: {
      address: config.TEMPORAL_ADDRESS,
      namespace: config.TEMPORAL_NAMESPACE,
      queuePrefix: config.TEMPORAL_QUEUE_PREFIX,
      patience: config.JOB_PATIENCE,
      connection: {
        ...(config.TEMPORAL_TLS ? { tls: true } : {}),
        ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY, tls: true }),
      },
    },
    log,
  });
  const verify = makeOidc({
    issuer: config.OIDC_ISSUER,
    audience: config.OIDC_AUDIENCE,
    algorithms: config.OIDC_ALGORITHMS,
    jwksUrl: config.OIDC_JWKS_URL,
    operatorClaim: config.OIDC_OPERATOR_CLAIM,
    operatorSubjects: config.OIDC_OPERATOR_SUBJECTS,
    onTrouble: atMostEvery(60_000, (error) => log.warn({ err: String(error) }, 'no keys of the identity provider')),
  });
  const app = makeApp({
    deps: {
      db,
      jobs,
      keys: new KeyRing(config.ENCRYPTION_KEYS),
      plans: readPlans(config.PLANS_FILE),
      installationId: config.INSTALLATION_ID,
      publicUrl: config.PUBLIC_URL,
      log,
    },
    recognize: {
      user: async (token) => {
        const { expiresAt, ...identity } = await verify(token);
        return { caller: await recognize(db, identity), expiresAt };
      },
      session: (token) => recognizeSession(db, token),
      runtime: (token) => recognizeRuntime(db, token),
    },
    health: {
      askDatabase: () => askDatabase(db),
      isTemporalReachable: () => jobs.isTemporalReachable(),
    },
    publicUrl: config.PUBLIC_URL,
    rateLimits: config.RATE_LIMITS,
    trustProxy: config.TRUST_PROXY,
    requests: makeRequestLog('api', config.LOG_LEVEL),
  });
  const close = async () => {
    await jobs.close();
    await db.destroy();
  };
  return { db, jobs, server: makeServer(app, config.PUBLIC_URL), close };
};

/** Lets requests under way finish, for a bounded time; idle connections are closed at once. */
export const drain = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(timer);
};

const main = async (): Promise<void> => {
  const config = readConfig('api');
  const log = makeLog('api', config.LOG_LEVEL);
  const api = makeApi(config, log);
  await requireSchema(api.db);
  gauge('acp_host_orphans', 'Apps at the host that are ours and belong to no agent', () => countOrphans(api.db));
  const metrics =
    config.METRICS_PORT === undefined ? undefined : serveMetrics(config.METRICS_PORT, config.LISTEN_ADDRESS, log);
  api.server.listen(config.PORT, config.LISTEN_ADDRESS);
  await once(api.server, 'listening');
  api.jobs.run();
  log.info({ url: config.PUBLIC_URL }, 'api ready');
  const stop = async () => {
    log.info('api stops');
    api.jobs.watch.release();
    await drain(api.server);
    await api.close();
    metrics?.close();
    process.exit(0);
  };
  process.once('SIGTERM', () => void stop());
  process.once('SIGINT', () => void stop());
};

if (import.meta.filename === process.argv[1])
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof BadConfig ? error.message : String(error)}\n`);
    process.exit(1);
  });
