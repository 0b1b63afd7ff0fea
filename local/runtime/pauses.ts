import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from './control-plane.js';

/** Pauses between tries. */
const FIRST_MS = 200;
const LONGEST_MS = 10_000;
/** A bootstrap token may be tried 20 times in 15 minutes: whoever is refused must leave room for the next one. */
const REFUSED_MS = 300_000;
/** Timers stand still while a machine is suspended; the clock is looked at this often. */
const SLICE_MS = 60_000;

/** Pauses after this reply to the `attempt`-th try in a row: growing, with some chance in it, and never less than was asked for. */
export type Pause = (reply: Reply<unknown>, attempt: number) => Promise<void>;

export function makePause(stopping: AbortSignal): Pause {
  return async (reply, attempt) => {
    const growing = Math.min(FIRST_MS * 2 ** Math.min(attempt, 20), LONGEST_MS);
    const wanted = reply.kind === 'refused' ? REFUSED_MS : growing;
    const asked = reply.kind === 'retry' ? (reply.afterMs ?? 0) : 0;
    const jittered = wanted / 2 + Math.random() * (wanted / 2);
    await sleep(Math.max(jittered, asked), undefined, { signal: stopping });
  };
}

/** Sleeps until the clock shows `at` (milliseconds since the epoch). */
export async function sleepUntil(at: number, stopping: AbortSignal): Promise<void> {
  for (let left = at - Date.now(); left > 0; left = at - Date.now()) {
    await sleep(Math.min(left, SLICE_MS), undefined, { signal: stopping });
  }
}
