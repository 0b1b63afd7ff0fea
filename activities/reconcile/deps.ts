import type { Db } from '../../src/db/knex.js';
import type { Host } from '../../src/providers/host/host.js';
import type { MachineGateway } from '../../src/providers/machine-gateway.js';

export interface ReconcileDeps {
  db: Db;
  host: Host;
  gateway: MachineGateway;
  org: string;
  settings: ReconcileSettings;
}

export interface ReconcileSettings {
  installationId: string;
  /** With `{app}` for the app's name. */
  gatewayUrl: string;
  orphans: {
    /** Whether they are reaped, or reported alone. */
    isReaping: boolean;
    /** Seconds between the first sight of an orphan and its reaping. */
    graceSeconds: number;
  };
}

export interface ReconcileReport {
  /** Machines that the host listed. */
  listed: number;
  /** List calls and single looks. */
  hostCalls: number;
  changed: number;
  /** Looks that failed; the agent is left as it is. */
  failed: number;
  /** Agents that were not looked at because their region had fallen silent. */
  skipped: number;
  /** Regions that were given up in this pass, or that a list said did not answer. */
  silentRegions: string[];
  orphans: number;
  /** The whole list was compared, and every region answered. */
  swept: boolean;
}
