import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again and again until `probe` answers true or `withinMs` have passed; a probe that throws counts as not yet. */
export async function until(probe: () => Promise<boolean>, withinMs: number, everyMs = 50): Promise<boolean> {
  const end = Date.now() + withinMs;
  for (;;) {
    if (await probe().catch(() => false)) return true;
    if (Date.now() > end) return false;
    await sleep(everyMs);
  }
}

/** A probe: does this address answer with a 2xx? */
export const answers =
  (url: string, headers: Record<string, string> = {}) =>
  async (): Promise<boolean> =>
    (await fetch(url, { headers, signal: AbortSignal.timeout(1_000) })).ok;
