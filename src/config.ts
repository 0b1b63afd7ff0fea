import { z } from 'zod';

/** Every setting of the product, with what it is for; `.env.example` is generated from this list. Secrets leave the environment when read. */
const port = z.coerce.number().int().min(0).max(65_535);
const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/$/, ''));
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const flag = z.enum(['on', 'off']).transform((text) => text === 'on');

const common = {
  DATABASE_URL: z.string().min(1).describe('PostgreSQL 15 or later, e.g. postgres://user:password@host:5432/name'),
  DATABASE_POOL: z.coerce.number().int().min(2).max(100).default(10).describe('Connections of one process at most'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('What is logged'),
  INSTALLATION_ID: z
    .string()
    .regex(/^[a-z0-9]{1,12}$/, 'must be 1 to 12 lower-case letters and digits')
    .default('local')
    .describe("Tells this installation's resources at the host from others'; never change it once agents exist"),
  TEMPORAL_ADDRESS: z.string().min(1).default('127.0.0.1:7233').describe('host:port of the Temporal frontend'),
  TEMPORAL_NAMESPACE: z.string().min(1).default('default').describe('Temporal namespace'),
  TEMPORAL_API_KEY: z.string().min(1).optional().describe('API key of Temporal Cloud; implies TLS'),
  TEMPORAL_TLS: flag.default(false).describe('on: connect to Temporal with TLS'),
  TEMPORAL_QUEUE_PREFIX: z.string().max(60).default('').describe('Put before every task queue name'),
  ENCRYPTION_KEYS: z
    .string()
    .regex(
      /^[\w-]{1,32}:[A-Za-z0-9+/]{43}=(\s*,\s*[\w-]{1,32}:[A-Za-z0-9+/]{43}=)*$/,
      'must be `<id>:<base64 of 32 bytes>`, comma separated',
    )
    .describe('Keys at rest, `<id>:<base64 of 32 bytes>`, comma separated; the first one encrypts'),
  LISTEN_ADDRESS: z.string().default('127.0.0.1').describe('Address that this process listens on, on all of its ports'),
  METRICS_PORT: port.optional().describe('Port of /metrics (Prometheus) of this process; absent = none'),
};

const apiOnly = {
  PORT: port.default(3000).describe('Port of the API'),
  PUBLIC_URL: url.default('http://127.0.0.1:3000').describe('Where people and machines reach the API'),
  OIDC_ISSUER: url.describe('Issuer of the identity provider'),
  OIDC_AUDIENCE: z.string().min(1).describe('Audience that access tokens must carry'),
  OIDC_JWKS_URL: url.optional().describe('Keys of the identity provider; found by discovery unless set'),
  OIDC_ALGORITHMS: list.default(['RS256', 'ES256', 'EdDSA', 'PS256']).describe('Signature algorithms accepted'),
  OIDC_OPERATOR_CLAIM: z
    .string()
    .regex(/^[^=]+=[^=]+$/, 'must be `claim=value`')
    .optional()
    .describe('Claim and value that make a person an operator, e.g. role=operator'),
  OIDC_OPERATOR_SUBJECTS: list.default([]).describe('Subjects that are operators, comma separated'),
  RATE_LIMITS: flag.default(true).describe('off: requests are not counted against budgets (guesses always are)'),
  TRUST_PROXY: flag
    .default(false)
    .describe("on: a proxy of yours stands in front, and X-Forwarded-For tells the caller's address"),
  JOB_PATIENCE: z.coerce
    .number()
    .min(0.01)
    .max(10)
    .default(1)
    .describe('Factor on every deadline and patience of jobs; below 1 to see them pass, as tests do'),
  PLANS_FILE: z.string().default('config/plans.json').describe('Plans, packages and prices'),
};

const workerOnly = {
  HEALTH_PORT: port.optional().describe('Port of /healthz and /readyz of a worker; absent = none'),
};

const hostOnly = {
  HOST_API_URL: url.default('https://api.machines.dev/v1').describe('Machine host (Fly Machines API)'),
  HOST_API_TOKEN: z.string().min(1).describe('Token of the machine host'),
  HOST_ORG: z.string().min(1).describe('Organisation at the machine host'),
  HOST_REGIONS: list.default(['ams', 'fra']).describe('Regions for machines, tried in this order'),
  HOST_GATEWAY_URL: z
    .string()
    .includes('{app}')
    .default('https://{app}.fly.dev')
    .describe("Where an agent's gateway is reached; {app} is its app's name"),
  MACHINE_IMAGE: z.string().min(1).describe('Image that machines run'),
  MACHINE_API_URL: url.optional().describe('Where machines reach the API; PUBLIC_URL unless set'),
  MACHINE_MEMORY_MB: z.coerce.number().int().min(256).default(1024).describe('Memory of a machine'),
  MACHINE_VOLUME_GB: z.coerce.number().int().min(1).default(1).describe('Size of a volume'),
  ORPHAN_REAPING: z
    .enum(['on', 'report'])
    .default('on')
    .describe('on: what is ours at the host and belongs to no agent is removed after its grace; report: only shown'),
  ORPHAN_GRACE_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .default(24 * 3_600)
    .describe('Seconds between the first sight of an orphan and its removal'),
  PUBLIC_URL: apiOnly.PUBLIC_URL,
  RUNTIME_VERSION: z
    .string()
    .regex(/^\d+\.\d+\.\d+/)
    .default('1.0.0')
    .describe('Release that new machines start with'),
};

const shapes = {
  api: z.object({ ...common, ...apiOnly }),
  control: z.object({ ...common, ...workerOnly }),
  host: z.object({ ...common, ...workerOnly, ...hostOnly }),
  admin: z.object({ ...common, ENCRYPTION_KEYS: common.ENCRYPTION_KEYS.optional() }),
};

export type Process = keyof typeof shapes;
export type Config<P extends Process> = z.output<(typeof shapes)[P]>;
export type CommonConfig = Config<'control'>;

/** Settings of every process with their descriptions, for `.env.example`. */
export const settings = { common, api: apiOnly, workers: workerOnly, 'host worker': hostOnly };

const secrets = ['DATABASE_URL', 'ENCRYPTION_KEYS', 'HOST_API_TOKEN', 'TEMPORAL_API_KEY'];

/** Raised with the whole list of faults, one a line. */
export class BadConfig extends Error {
  override name = 'BadConfig';
}

/** Reads the settings of one kind of process from the environment. An empty variable counts as absent. */
export const readConfig = <P extends Process>(process_: P, env: NodeJS.ProcessEnv = process.env): Config<P> => {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = shapes[process_].safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => {
      const name = issue.path.join('.');
      return `  ${name}: ${given[name] === undefined ? 'is not set' : issue.message}`;
    });
    throw new BadConfig(`These settings are missing or wrong:\n${faults.join('\n')}`);
  }
  if (env === process.env) for (const name of secrets) delete process.env[name];
  return parsed.data as Config<P>; // zod cannot follow the generic key
};
