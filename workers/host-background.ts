import { makeReconcileActivities } from '../activities/reconcile.js';
import { readConfig } from '../src/config.js';
import { makeFlyMachines } from '../src/providers/host/fly-machines.js';
import { makeMachineGateway } from '../src/providers/machine-gateway.js';
import { reconcileSettings } from './host-settings.js';
import { runWorker } from './run.js';

/** The queue `host-background`: what the service asks of the machine host by itself, never in the way of what users asked. */
await runWorker(
  'host-background',
  () => readConfig('host'),
  (config, db) => {
    const host = makeFlyMachines({ baseUrl: config.HOST_API_URL, token: config.HOST_API_TOKEN, org: config.HOST_ORG });
    const gateway = makeMachineGateway();
    const settings = reconcileSettings(config);
    return {
      queue: 'host-background',
      options: {
        activities: makeReconcileActivities({ db, host, gateway, org: config.HOST_ORG, settings }),
        maxConcurrentActivityTaskExecutions: 10,
      },
      close: async () => {
        await host.close();
        await gateway.close();
      },
    };
  },
);
