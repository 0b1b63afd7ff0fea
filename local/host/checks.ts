import { setTimeout as sleep } from 'node:timers/promises';
import { durationMs } from './durations.js';
import type { CheckConfig, MachineConfig } from './records.js';

export interface CheckResult {
  name: string;
  status: 'passing' | 'warning' | 'critical';
  output: string | null;
  updated_at: string;
}

const DEFAULT_MS = 1_000;
const SHORTEST_MS = 50;
const TRY_MS = 2_000;

/** Keeps asking a machine's checks while it runs; intervals above a second are cut to one. */
export function watchChecks(config: MachineConfig, port: number): { results: () => CheckResult[]; stop: () => void } {
  const results = new Map<string, CheckResult>();
  const stopping = new AbortController();
  for (const [name, check] of Object.entries(config.checks ?? {})) {
    results.set(name, result(name, 'warning', null));
    void (async () => {
      const pauseMs = Math.min(Math.max(intervalMs(check), SHORTEST_MS), DEFAULT_MS);
      while (!stopping.signal.aborted) {
        results.set(name, await ask(name, check, port, stopping.signal));
        await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    })();
  }
  return { results: () => [...results.values()], stop: () => stopping.abort() };
}

async function ask(name: string, check: CheckConfig, port: number, stopping: AbortSignal): Promise<CheckResult> {
  const path = check.type === 'http' ? (check.path ?? '/') : '/healthz';
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: check.method ?? 'GET',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(TRY_MS)]),
    });
    const output = (await response.text()).slice(0, 1_000);
    const isPassing = check.type !== 'http' || response.ok;
    return result(name, isPassing ? 'passing' : 'critical', output);
  } catch {
    return result(name, 'critical', 'connection refused');
  }
}

function result(name: string, status: CheckResult['status'], output: string | null): CheckResult {
  return { name, status, output, updated_at: new Date().toISOString() };
}

/** The API documents nanoseconds and shows durations: both are taken. */
function intervalMs({ interval }: CheckConfig): number {
  if (typeof interval === 'number') return interval / 1_000_000;
  try {
    return durationMs(interval, DEFAULT_MS);
  } catch {
    return DEFAULT_MS;
  }
}
