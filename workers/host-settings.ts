import type { MachineSettings } from '../activities/machine-config.js';
import type { ReconcileSettings } from '../activities/reconcile.js';
import type { Config } from '../src/config.js';

/** What machines are made of, from the settings of the host worker. */
export const machineSettings = (config: Config<'host'>): MachineSettings => ({
  installationId: config.INSTALLATION_ID,
  image: config.MACHINE_IMAGE,
  apiUrl: config.MACHINE_API_URL ?? config.PUBLIC_URL,
  regions: config.HOST_REGIONS,
  gatewayUrl: config.HOST_GATEWAY_URL,
  runtimeVersion: config.RUNTIME_VERSION,
  memoryMb: config.MACHINE_MEMORY_MB,
  volumeGb: config.MACHINE_VOLUME_GB,
});

/** What the reconciler goes by. */
export const reconcileSettings = (config: Config<'host'>): ReconcileSettings => ({
  installationId: config.INSTALLATION_ID,
  gatewayUrl: config.HOST_GATEWAY_URL,
  orphans: { isReaping: config.ORPHAN_REAPING === 'on', graceSeconds: config.ORPHAN_GRACE_SECONDS },
});
