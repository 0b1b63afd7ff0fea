import { setTimeout as sleep } from 'node:timers/promises';

/** Looks again and again until there is something to see; throws when there is nothing after `seconds`. */
export const until = async <T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  seconds = 30,
): Promise<T> => {
  const end = Date.now() + seconds * 1_000;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await sleep(20);
  }
};
