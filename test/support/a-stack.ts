import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestFn } from 'ava';
import { type HostOptions, type HostStandIn, startHost } from '../../local/host/host.js';
import { freePort } from '../../local/process/ports.js';
import { readConfig } from '../../src/config.js';
import { type Db, makeDb } from '../../src/db/knex.js';
import { drain, makeApi } from '../../src/server.js';
import { makeLog } from '../../src/telemetry/log.js';
import { ACaller } from './a-caller.js';
import { aDatabase } from './a-database.js';
import { anIssuer, type Issuer } from './an-issuer.js';
import { type Queue, startWorkers } from './workers.js';

export interface StackOptions {
  /** Workers in this process; none, or some, for tests that do not need jobs to run, or bring their own. */
  workers?: boolean | readonly Queue[];
  /** The API in this process; false for tests that run it as a process, by `env`. */
  api?: boolean;
  /** Superuser's URL of a database server of the test's own; the run's unless set. */
  databaseServer?: string;
  /** How long transitions at the host show. */
  hostPace?: NonNullable<HostOptions['pace']>;
  /** Settings of the API and the workers, over those of the stack. */
  env?: Record<string, string>;
}

export interface Stack {
  url: string;
  db: Db;
  host: HostStandIn;
  /** Where the host stand-in keeps its machines and what they keep. */
  hostFolder: string;
  issuer: Issuer;
  /** Settings for further processes of this stack. */
  env: Record<string, string>;
  /** A new user, or the user of that name. */
  user(name?: string, claims?: Record<string, unknown>): Promise<ACaller>;
  nobody(): ACaller;
  close(): Promise<void>;
}

export const HOST_TOKEN = 'host-token';
const plansFile = 'test/support/plans.json';
let users = 0;

/** The API in this process. Returns what stops it. */
const startApi = async (env: Record<string, string>): Promise<() => Promise<void>> => {
  const config = readConfig('api', env);
  const api = makeApi(config, makeLog('api', config.LOG_LEVEL));
  api.server.listen(config.PORT, '127.0.0.1');
  await once(api.server, 'listening');
  api.jobs.run();
  return async () => {
    await drain(api.server);
    await api.close();
  };
};

/** Everything but the engine, in this process: a database of its own, the host stand-in with real machines, the API, the workers. */
export const startStack = async ({
  workers = true,
  api: isApiHere = true,
  databaseServer,
  hostPace = {},
  env: extra = {},
}: StackOptions = {}): Promise<Stack> => {
  const closers: (() => Promise<unknown>)[] = [];
  const database = await aDatabase(databaseServer);
  closers.push(() => database.drop());
  const dir = await mkdtemp(join(tmpdir(), 'acp-stack-'));
  closers.push(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  const host = await startHost({ port: 0, dir, token: HOST_TOKEN, org: 'acme', pace: hostPace });
  closers.push(() => host.close());
  const issuer = await anIssuer();
  closers.push(() => issuer.close());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env: Record<string, string> = {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: process.env['TEST_TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233',
    TEMPORAL_QUEUE_PREFIX: `${database.name}-`,
    INSTALLATION_ID: 'test',
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
    PORT: String(port),
    PUBLIC_URL: url,
    OIDC_ISSUER: issuer.url,
    OIDC_AUDIENCE: issuer.audience,
    OIDC_OPERATOR_CLAIM: 'role=operator',
    PLANS_FILE: plansFile,
    RATE_LIMITS: 'off',
    HOST_API_URL: `${host.url}/v1`,
    HOST_API_TOKEN: HOST_TOKEN,
    HOST_ORG: 'acme',
    HOST_GATEWAY_URL: `${host.url}/ingress/{app}`,
    MACHINE_IMAGE: 'reference-runtime',
    ...extra,
  };
  if (isApiHere) closers.push(await startApi(env));
  if (workers !== false) closers.push(await startWorkers(env, workers === true ? undefined : workers));
  const db = makeDb({ url: database.url, max: 4, name: 'acp-test' });
  closers.push(() => db.destroy());

  return {
    url,
    db,
    host,
    hostFolder: dir,
    issuer,
    env,
    user: async (name = `user${++users}`, claims = {}) => new ACaller(url, await issuer.token(name, claims)),
    nobody: () => new ACaller(url, undefined),
    close: async () => {
      for (const close of closers.toReversed()) await close();
    },
  };
};

/** One stack for all tests of a file. */
export const withStack = (test: TestFn, options: StackOptions = {}): (() => Stack) => {
  let stack: Stack | undefined;
  test.before(async (t) => {
    t.timeout(60_000);
    stack = await startStack(options);
  });
  test.after.always(async (t) => {
    t.timeout(60_000);
    await stack?.close();
  });
  return () => {
    if (!stack) throw new Error('the stack did not start');
    return stack;
  };
};
