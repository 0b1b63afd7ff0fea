import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { BadConfig, readConfig, type Process } from '../src/config.js';
import { methodAndPath } from '../src/contract/endpoint.js';
import { endpoints } from '../src/contract/index.js';
import { drain, makeApi } from '../src/server.js';
import { makeLog } from '../src/telemetry/log.js';
import { rows } from './support/the-table.js';

const keys = `k1:${randomBytes(32).toString('base64')}`;
/** All that an API must be told. */
const apiSettings = {
  DATABASE_URL: 'postgres://acp:planted-password@127.0.0.1:1/acp',
  ENCRYPTION_KEYS: keys,
  OIDC_ISSUER: 'https://id.test',
  OIDC_AUDIENCE: 'https://agents.test',
};

const faultsOf = (kind: Process, env: NodeJS.ProcessEnv): string => {
  try {
    readConfig(kind, env);
    return '';
  } catch (error) {
    if (error instanceof BadConfig) return error.message;
    throw error;
  }
};

test('an API needs no setting of the host, the biller or the messengers', (t) => {
  const config = readConfig('api', apiSettings);
  t.deepEqual(
    Object.keys(config).filter((name) => /^(HOST|MACHINE|BILLER|MESSENGER|STRIPE|RUNTIME)_/.test(name)),
    [],
  );
  t.like(config, { PORT: 3_000, LISTEN_ADDRESS: '127.0.0.1', LOG_LEVEL: 'info', DATABASE_POOL: 10 });
});

test('an API with nothing but its own settings mounts every route', async (t) => {
  const api = makeApi(readConfig('api', { ...apiSettings, LOG_LEVEL: 'silent' }), makeLog('api', 'silent'));
  api.server.listen(0, '127.0.0.1');
  await once(api.server, 'listening');
  const url = `http://127.0.0.1:${(api.server.address() as AddressInfo).port}`; // a TCP server has one
  for (const row of rows) {
    const body =
      row.body === undefined ? {} : { body: JSON.stringify(row.body), headers: { 'content-type': 'application/json' } };
    const { status } = await fetch(`${url}${row.path()}`, { method: row.method, ...body });
    t.true(
      row.endpoint.auth === 'none' ? ![404, 405, 500].includes(status) : status === 401,
      `${row.endpoint.id} ${status}`,
    );
  }
  const { paths } = (await (await fetch(`${url}/api/openapi.json`)).json()) as { paths: Record<string, object> };
  t.is(Object.values(paths).flatMap(Object.keys).length, endpoints.map(methodAndPath).length);
  t.is((await fetch(`${url}/healthz`)).status, 200);
  await drain(api.server);
  await api.close();
});

test('all faults are told at once, by name', (t) => {
  const message = faultsOf('api', {
    PORT: '70000',
    LOG_LEVEL: 'loud',
    DATABASE_POOL: 'many',
    OIDC_ISSUER: 'not a url',
    OIDC_OPERATOR_CLAIM: 'role',
    INSTALLATION_ID: 'Too Long For An Id',
  });
  const named = message
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(':', 1).join());
  t.deepEqual(named.toSorted(), [
    'DATABASE_POOL',
    'DATABASE_URL',
    'ENCRYPTION_KEYS',
    'INSTALLATION_ID',
    'LOG_LEVEL',
    'OIDC_AUDIENCE',
    'OIDC_ISSUER',
    'OIDC_OPERATOR_CLAIM',
    'PORT',
  ]);
  t.regex(message, /DATABASE_URL: is not set/);
  t.notRegex(message, /PORT: is not set/);
});

test('an empty setting counts as absent', (t) => {
  const { PORT, OIDC_JWKS_URL, METRICS_PORT } = readConfig('api', {
    ...apiSettings,
    PORT: '',
    OIDC_JWKS_URL: '',
    METRICS_PORT: '',
  });
  t.deepEqual(
    { PORT, OIDC_JWKS_URL, METRICS_PORT },
    { PORT: 3_000, OIDC_JWKS_URL: undefined, METRICS_PORT: undefined },
  );
  t.regex(faultsOf('api', { ...apiSettings, DATABASE_URL: '' }), /^ {2}DATABASE_URL: is not set$/m);
});

test('what a process does not need it does not read', (t) => {
  for (const kind of ['control', 'admin'] as const)
    t.is(
      faultsOf(kind, { DATABASE_URL: 'x', ENCRYPTION_KEYS: keys, PORT: 'none of its business', OIDC_ISSUER: '' }),
      '',
    );
  const faults = faultsOf('host', { DATABASE_URL: 'x', ENCRYPTION_KEYS: keys });
  for (const name of ['HOST_API_TOKEN', 'HOST_ORG', 'MACHINE_IMAGE'])
    t.regex(faults, new RegExp(`${name}: is not set`));
});

test('lists, addresses and switches are read as such', (t) => {
  const config = readConfig('api', {
    ...apiSettings,
    PUBLIC_URL: 'https://agents.test/',
    OIDC_ALGORITHMS: 'RS256, ES256,',
    OIDC_OPERATOR_SUBJECTS: '',
    TEMPORAL_TLS: 'on',
    PORT: '8080',
  });
  t.like(config, { PUBLIC_URL: 'https://agents.test', TEMPORAL_TLS: true, PORT: 8_080 });
  t.deepEqual([config.OIDC_ALGORITHMS, config.OIDC_OPERATOR_SUBJECTS], [['RS256', 'ES256'], []]);
  for (const TEMPORAL_TLS of ['true', '1', 'ON'])
    t.regex(faultsOf('api', { ...apiSettings, TEMPORAL_TLS }), /TEMPORAL_TLS/);
  t.regex(faultsOf('api', { ...apiSettings, PUBLIC_URL: 'ftp://agents.test' }), /PUBLIC_URL/);
});

test('no secret stands in the message that lists the faults', (t) => {
  const secret = 'planted-secret';
  const message = faultsOf('host', {
    DATABASE_URL: `postgres://acp:${secret}@db/acp`,
    DATABASE_POOL: secret,
    ENCRYPTION_KEYS: `k1:${secret}`,
    HOST_API_TOKEN: secret,
    HOST_API_URL: `${secret}@host`,
    TEMPORAL_API_KEY: secret,
    METRICS_PORT: secret,
    TEMPORAL_TLS: secret,
    LOG_LEVEL: secret,
    RUNTIME_VERSION: secret,
    HOST_GATEWAY_URL: secret,
  });
  t.regex(message, /DATABASE_POOL/);
  t.false(message.includes(secret), message);
});

test('secrets leave the environment when they are read', (t) => {
  Object.assign(process.env, apiSettings, { TEMPORAL_API_KEY: 'planted-secret' });
  const config = readConfig('api');
  t.is(config.ENCRYPTION_KEYS, keys);
  for (const name of ['DATABASE_URL', 'ENCRYPTION_KEYS', 'TEMPORAL_API_KEY']) t.is(process.env[name], undefined, name);
});
