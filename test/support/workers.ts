import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { makeControlActivities } from '../../activities/control.js';
import { makeHostActivities } from '../../activities/host/index.js';
import { makeReconcileActivities } from '../../activities/reconcile.js';
import { readConfig } from '../../src/config.js';
import { makeDb } from '../../src/db/knex.js';
import { KeyRing } from '../../src/models/key-ring.js';
import { makeFlyMachines } from '../../src/providers/host/fly-machines.js';
import { makeMachineGateway } from '../../src/providers/machine-gateway.js';
import { workflowBundlePath } from '../../workers/bundle.js';
import { machineSettings, reconcileSettings } from '../../workers/host-settings.js';
import { workerDefaults } from '../../workers/defaults.js';

let runtimeInstalled = false;

export type Queue = 'control' | 'host' | 'host-background';

/** The workers of a stack, in this process. Returns what stops them. */
export const startWorkers = async (
  env: Record<string, string>,
  queues: readonly Queue[] = ['control', 'host', 'host-background'],
): Promise<() => Promise<void>> => {
  if (!runtimeInstalled) {
    Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined), shutdownSignals: [] });
    runtimeInstalled = true;
  }
  const config = readConfig('host', env);
  const db = makeDb({ url: config.DATABASE_URL, max: 10, name: 'acp-test-workers' });
  const connection = await NativeConnection.connect({ address: config.TEMPORAL_ADDRESS });
  const host = makeFlyMachines({ baseUrl: config.HOST_API_URL, token: config.HOST_API_TOKEN, org: config.HOST_ORG });
  const gateway = makeMachineGateway();
  const keys = new KeyRing(config.ENCRYPTION_KEYS);
  const shared = { ...workerDefaults, connection, shutdownGraceTime: '2s', shutdownForceTime: '5s' } as const;
  const parts = {
    control: () => ({
      workflowBundle: { codePath: workflowBundlePath },
      activities: makeControlActivities({ db }),
    }),
    host: () => ({ activities: makeHostActivities({ db, host, gateway, keys, settings: machineSettings(config) }) }),
    'host-background': () => ({
      activities: makeReconcileActivities({
        db,
        host,
        gateway,
        org: config.HOST_ORG,
        settings: reconcileSettings(config),
      }),
    }),
  };
  const workers = await Promise.all(
    queues.map((queue) =>
      Worker.create({ ...shared, taskQueue: config.TEMPORAL_QUEUE_PREFIX + queue, ...parts[queue]() }),
    ),
  );
  const running = Promise.allSettled(workers.map((worker) => worker.run()));
  return async () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    await running;
    await connection.close();
    await Promise.all([host.close(), gateway.close(), db.destroy()]);
  };
};
