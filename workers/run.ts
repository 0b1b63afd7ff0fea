import { DefaultLogger, type LogLevel, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { BadConfig, type CommonConfig } from '../src/config.js';
import { askDatabase, type Db, makeDb } from '../src/db/knex.js';
import { requireSchema } from '../src/db/migrate.js';
import { missingSearchAttributes } from '../src/jobs/search-attributes.js';
import { type Log, makeLog } from '../src/telemetry/log.js';
import { connectTemporal } from './connect.js';
import { workerDefaults } from './defaults.js';
import { type Readiness, serveHealth } from './health.js';

export interface WorkerParts {
  /** Queue name without prefix. */
  queue: string;
  options: Pick<WorkerOptions, 'activities' | 'workflowBundle' | 'maxConcurrentActivityTaskExecutions'>;
  /** Closed after the worker has drained. */
  close?: () => Promise<void>;
}

/** Temporal's own messages as our log lines. */
const installRuntime = (config: CommonConfig, log: Log): void => {
  const levels: Record<LogLevel, 'debug' | 'info' | 'warn' | 'error'> = {
    TRACE: 'debug',
    DEBUG: 'debug',
    INFO: 'info',
    WARN: 'warn',
    ERROR: 'error',
  };
  Runtime.install({
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      // Said by our own line, with the job's id and the code.
      if (message.startsWith('Activity failed')) return;
      const { taskToken: _, ...facts } = { ...meta };
      log[levels[level]](facts, message);
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'WARN' } },
      ...(config.METRICS_PORT === undefined
        ? {}
        : {
            metrics: {
              prometheus: {
                bindAddress: `${config.LISTEN_ADDRESS}:${config.METRICS_PORT}`,
                countersTotalSuffix: true,
                unitSuffix: true,
                useSecondsForDurations: true,
              },
            },
          }),
    },
  });
};

const readinessOf = async (worker: Worker, db: Db, lacks: () => Promise<string[]>): Promise<Readiness> => {
  const { runState, workflowPollerState, activityPollerState } = worker.getStatus();
  if (runState !== 'RUNNING') return { ready: false, reason: `the worker is ${runState}` };
  const polling = workflowPollerState === 'POLLING' || activityPollerState === 'POLLING';
  if (!polling) return { ready: false, reason: 'the worker does not poll' };
  await askDatabase(db);
  const missing = await lacks();
  if (missing.length > 0)
    return { ready: false, reason: `Temporal lacks ${missing.join(', ')}: run \`agentctl admin temporal apply\`` };
  return { ready: true };
};

/** What all workers share: settings, schema check, connection, health, orderly stop (worker, then connection, then pool). */
export const runWorker = async <C extends CommonConfig>(
  name: string,
  readSettings: () => C,
  makeParts: (config: C, db: Db, log: Log) => WorkerParts,
): Promise<void> => {
  let config: C;
  try {
    config = readSettings();
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const log = makeLog(`worker-${name}`, config.LOG_LEVEL);
  try {
    installRuntime(config, log);
    const db = makeDb({ url: config.DATABASE_URL, max: config.DATABASE_POOL, name: `acp-worker-${name}` });
    await requireSchema(db);
    const connection = await connectTemporal(config, log);
    const { queue, options, close } = makeParts(config, db, log);
    const worker = await Worker.create({
      connection,
      namespace: config.TEMPORAL_NAMESPACE,
      taskQueue: config.TEMPORAL_QUEUE_PREFIX + queue,
      ...workerDefaults,
      ...options,
    });
    const lacks = () => missingSearchAttributes(connection.operatorService, config.TEMPORAL_NAMESPACE);
    const health =
      config.HEALTH_PORT === undefined
        ? undefined
        : serveHealth(config.HEALTH_PORT, config.LISTEN_ADDRESS, () => readinessOf(worker, db, lacks), log);
    log.info({ queue: config.TEMPORAL_QUEUE_PREFIX + queue }, 'worker ready');
    await worker.run();
    health?.close();
    await close?.();
    await connection.close();
    await db.destroy();
    log.info('worker stopped');
  } catch (error) {
    log.fatal({ err: error instanceof Error ? error.message : String(error) }, 'worker failed');
    process.exitCode = 1;
    setTimeout(() => process.exit(1), 1_000).unref();
  }
};
