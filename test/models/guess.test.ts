import test from 'ava';
import { makeDb, type Db } from '../../src/db/knex.js';
import { giveGuessBack, guessesWait, takeGuess } from '../../src/models/guess.js';
import { aDatabase, type TestDatabase } from '../support/a-database.js';

const limit = { most: 3, windowSeconds: 60 };
let database: TestDatabase;
let db: Db;
test.before(async () => {
  database = await aDatabase();
  db = makeDb({ url: database.url, max: 10, name: 'acp-test' });
});
test.after.always(async () => {
  await db.destroy();
  await database.drop();
});

let subjects = 0;
const aSubject = (): string => `subject:${++subjects}`;
const take = async (subject: string): Promise<'taken' | number> => {
  const taken = await takeGuess(db, subject, limit);
  return 'guess' in taken ? 'taken' : taken.waitSeconds;
};
const age = (subject: string, seconds: number) =>
  db('guesses')
    .update({
      triedAt: db.raw(`array(select at - make_interval(secs => ${seconds}) from unnest(tried_at) at order by at)`),
    })
    .where({ subject });

test('there are so many guesses in a window and no more, and the wait is told', async (t) => {
  const subject = aSubject();
  t.is(await guessesWait(db, subject, limit), 0);
  t.deepEqual([await take(subject), await take(subject), await take(subject)], ['taken', 'taken', 'taken']);
  const wait = await take(subject);
  t.true(typeof wait === 'number' && wait > 55 && wait <= 60, String(wait));
  t.true((await guessesWait(db, subject, limit)) > 55);
  t.is(await take(aSubject()), 'taken', 'another subject has its own');
});

test('the window slides: a guess counts for its whole length, whenever it was', async (t) => {
  const subject = aSubject();
  await take(subject);
  await age(subject, 40);
  await take(subject);
  await take(subject);
  t.true(Number(await take(subject)) <= 20, 'the oldest is over in 20 s');
  await age(subject, 21);
  t.is(await take(subject), 'taken');
  t.is(typeof (await take(subject)), 'number', 'three of the last minute again');
});

test('what is refused does not make the wait longer', async (t) => {
  const subject = aSubject();
  for (let tries = 0; tries < 50; tries++) await take(subject);
  await age(subject, 60);
  t.is(await take(subject), 'taken');
});

test('a guess that was given back is free again', async (t) => {
  const subject = aSubject();
  await take(subject);
  for (let tries = 0; tries < 20; tries++) {
    const taken = await takeGuess(db, subject, limit);
    t.true('guess' in taken);
    if ('guess' in taken) await giveGuessBack(db, taken.guess);
  }
  t.deepEqual([await take(subject), await take(subject), typeof (await take(subject))], ['taken', 'taken', 'number']);
});

test('of fifty at once exactly as many as allowed are taken', async (t) => {
  for (let round = 0; round < 10; round++) {
    const subject = aSubject();
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(subject)));
    t.is(taken.filter((one) => one === 'taken').length, limit.most);
  }
  t.log('10 rounds × 50 guesses at once: 3 taken each');
});
