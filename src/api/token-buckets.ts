import { LRUCache } from 'lru-cache';

/** Whoever called longest ago is forgotten first; by then their bucket is full again, or memory is worth more. */
const REMEMBERED = 100_000;

export interface Taken {
  ok: boolean;
  /** Whole tokens left. */
  left: number;
  /** Milliseconds until there is a token again, 0 when there is one. */
  waitMs: number;
  /** Milliseconds until the bucket is full again. */
  fullInMs: number;
}

/**
 * Token buckets, one for each key: `size` tokens, refilled evenly over `seconds`. Kept as the moment at which the bucket will be
 * full again (GCRA, ITU-T I.371): one number a key, nothing to refill.
 */
export class TokenBuckets {
  readonly size: number;
  readonly seconds: number;
  readonly #fullAt = new LRUCache<string, number>({ max: REMEMBERED });
  readonly #msPerToken: number;

  constructor(size: number, seconds: number) {
    this.size = size;
    this.seconds = seconds;
    this.#msPerToken = (seconds * 1_000) / size;
  }

  /** How the bucket stands; nothing is taken. `now` in milliseconds of a clock that only goes forward. */
  look(key: string, now = performance.now()): Taken {
    const fullInMs = Math.max(0, (this.#fullAt.get(key) ?? 0) - now);
    const free = this.seconds * 1_000 - fullInMs;
    const left = Math.max(0, Math.floor(free / this.#msPerToken + 1e-6));
    return { ok: left > 0, left, waitMs: left > 0 ? 0 : this.#msPerToken - free, fullInMs };
  }

  /** Takes a token, if there is one; who is refused pays nothing. */
  take(key: string, now = performance.now()): Taken {
    const before = this.look(key, now);
    if (!before.ok) return before;
    this.#fullAt.set(key, now + before.fullInMs + this.#msPerToken);
    return { ...this.look(key, now), ok: true };
  }
}
