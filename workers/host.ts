import { makeHostActivities } from '../activities/host/index.js';
import { readConfig } from '../src/config.js';
import { KeyRing } from '../src/models/key-ring.js';
import { makeFlyMachines } from '../src/providers/host/fly-machines.js';
import { makeMachineGateway } from '../src/providers/machine-gateway.js';
import { machineSettings } from './host-settings.js';
import { runWorker } from './run.js';

/** The queue `host`: what users asked of the machine host. */
await runWorker(
  'host',
  () => readConfig('host'),
  (config, db) => {
    const host = makeFlyMachines({ baseUrl: config.HOST_API_URL, token: config.HOST_API_TOKEN, org: config.HOST_ORG });
    const gateway = makeMachineGateway();
    const keys = new KeyRing(config.ENCRYPTION_KEYS);
    return {
      queue: 'host',
      options: {
        activities: makeHostActivities({ db, host, gateway, keys, settings: machineSettings(config) }),
        maxConcurrentActivityTaskExecutions: 100,
      },
      close: async () => {
        await host.close();
        await gateway.close();
      },
    };
  },
);
