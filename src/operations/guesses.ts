import { ApiError } from '../contract/errors.js';
import type { Db } from '../db/knex.js';
import { giveGuessBack, type GuessLimit, takeGuess } from '../models/guess.js';

/** What may be guessed how often (contract: General). The numbers are exact over all processes. */
export const guessLimits = {
  userCodeOfUser: { most: 5, windowSeconds: 900 },
  userCodeOfAddress: { most: 20, windowSeconds: 900 },
  deviceCode: { most: 30, windowSeconds: 60 },
  bootstrapToken: { most: 20, windowSeconds: 900 },
} as const satisfies Record<string, GuessLimit>;

const refuse = (seconds: number): ApiError =>
  new ApiError('rate_limited', 'Too many wrong tries; wait before the next.', { retryAfterSeconds: seconds });

/**
 * Looks for something that can be guessed. A try counts before it is looked at, and is given back when it was right; once the tries
 * are used up even a right one is refused.
 */
export const guessing = async <T>(
  db: Db,
  subjects: [subject: string, limit: GuessLimit][],
  look: () => Promise<T | undefined>,
): Promise<T | undefined> => {
  const taken = await Promise.all(subjects.map(([subject, limit]) => takeGuess(db, subject, limit)));
  const guesses = taken.flatMap((one) => ('guess' in one ? [one.guess] : []));
  const giveBack = () => Promise.all(guesses.map((guess) => giveGuessBack(db, guess)));
  const waits = taken.flatMap((one) => ('guess' in one ? [] : [one.waitSeconds]));
  if (waits.length > 0) {
    await giveBack();
    throw refuse(Math.max(...waits));
  }
  const found = await look();
  if (found !== undefined) await giveBack();
  return found;
};

/** Counts a miss of something too long to be guessed; only a flood of them is refused. */
export const countMiss = async (db: Db, subject: string, limit: GuessLimit): Promise<void> => {
  const taken = await takeGuess(db, subject, limit);
  if ('waitSeconds' in taken) throw refuse(taken.waitSeconds);
};
