import { makeHostActivities } from '../activities/host/index.js';
import type { MachineSettings } from '../activities/machine-config.js';
import { type Config, readConfig } from '../src/config.js';
import { KeyRing } from '../src/models/key-ring.js';
import { makeFlyMachines } from '../src/providers/host/fly-machines.js';
import { makeMachineGateway } from '../src/providers/machine-gateway.js';
import { runWorker } from './run.js';

const machineSettings = (config: Config<'host'>): MachineSettings => ({
  installationId: config.INSTALLATION_ID,
  image: config.MACHINE_IMAGE,
  apiUrl: config.MACHINE_API_URL ?? config.PUBLIC_URL,
  regions: config.HOST_REGIONS,
  gatewayUrl: config.HOST_GATEWAY_URL,
  runtimeVersion: config.RUNTIME_VERSION,
  memoryMb: config.MACHINE_MEMORY_MB,
  volumeGb: config.MACHINE_VOLUME_GB,
});

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
