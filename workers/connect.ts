import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import type { CommonConfig } from '../src/config.js';
import type { Log } from '../src/telemetry/log.js';

const PATIENCE_MS = 120_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

/** Connects to Temporal, waiting for it a bounded time: a worker that cannot work ends and says so, for its supervisor to see. */
export const connectTemporal = async (config: CommonConfig, log: Log): Promise<NativeConnection> => {
  const until = Date.now() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await NativeConnection.connect({
        address: config.TEMPORAL_ADDRESS,
        tls: config.TEMPORAL_TLS || config.TEMPORAL_API_KEY !== undefined,
        ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY }),
      });
    } catch (error) {
      if (Date.now() > until) throw error;
      log.warn({ address: config.TEMPORAL_ADDRESS }, 'Temporal does not answer; trying again');
      await sleep(pause);
    }
  }
};
