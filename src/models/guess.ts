import type { Db } from '../db/knex.js';

/** What may be tried only so often within so many seconds, whenever one begins to count. */
export interface GuessLimit {
  most: number;
  windowSeconds: number;
}

/** A try that counts until its window is over or it is given back. */
export interface Guess {
  subject: string;
  /** To the microsecond, as the database writes it. */
  at: string;
}

/** Seconds until there are guesses again, or the guess that was taken. */
type Taken = { guess: Guess } | { waitSeconds: number };

/** The tries that still count: those of the last window. */
const counting = `array(select at from unnest(g.tried_at) as at
                        where at > clock_timestamp() - make_interval(secs => :seconds) order by at)`;

/** Seconds until the subject has guesses again; 0 = it has some now. */
export const guessesWait = async (db: Db, subject: string, { most, windowSeconds }: GuessLimit): Promise<number> => {
  const { rows } = await db.raw<{ rows: { seconds: number }[] }>(
    `select ceil(extract(epoch from live[1] + make_interval(secs => :seconds) - clock_timestamp()))::int as seconds
       from (select ${counting} as live from guesses g where subject = :subject) as counted
      where cardinality(live) >= :most`,
    { subject, most, seconds: windowSeconds },
  );
  return rows[0] ? Math.max(1, rows[0].seconds) : 0;
};

/**
 * Takes one of the guesses that a subject has, before it is looked at whether the guess is right: so of many at once, over all
 * processes, no more than the limit are ever looked at. What is refused does not count.
 */
export const takeGuess = async (db: Db, subject: string, limit: GuessLimit): Promise<Taken> => {
  const { rows } = await db.raw<{ rows: { at: string }[] }>(
    `insert into guesses as g (subject, tried_at, ends_at)
       values (:subject, array[clock_timestamp()], clock_timestamp() + make_interval(secs => :seconds))
     on conflict (subject) do update
       set tried_at = ${counting} || clock_timestamp(), ends_at = clock_timestamp() + make_interval(secs => :seconds)
       where cardinality(${counting}) < :most
     returning tried_at[cardinality(tried_at)]::text as at`,
    { subject, most: limit.most, seconds: limit.windowSeconds },
  );
  const [taken] = rows;
  if (taken) return { guess: { subject, at: taken.at } };
  return { waitSeconds: Math.max(1, await guessesWait(db, subject, limit)) };
};

/** Gives a guess back that was right, or that was not looked at after all: only wrong ones count. */
export const giveGuessBack = async (db: Db, { subject, at }: Guess): Promise<void> => {
  await db('guesses')
    .update({ triedAt: db.raw('array_remove(tried_at, ?::timestamptz)', [at]) })
    .where({ subject });
};
