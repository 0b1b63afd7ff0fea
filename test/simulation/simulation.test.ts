import test from 'ava';
import { linesOf, summaryOf } from './report.js';
import { simulate } from './simulate.js';

const SEEDS = 12;
/** Other seeds than everybody else's, when TEST_SEED says so. */
const from = Number(process.env['TEST_SEED'] ?? 1);

test(`${SEEDS} seeds of trouble leave no orphan, no duplicate, no resurrection and no unfinished job`, async (t) => {
  t.timeout(400_000);
  const result = await simulate({
    from,
    seeds: SEEDS,
    concurrency: SEEDS,
    onVerdict: (verdict) => {
      for (const line of linesOf(verdict, false)) t.log(line);
    },
  });
  for (const line of summaryOf(result)) t.log(line);
  t.is(result.verdicts.length, SEEDS);
  t.deepEqual(
    result.verdicts.flatMap(({ wrong }) => wrong),
    [],
  );
  t.deepEqual(result.wrong, []);
  t.true(
    result.verdicts.some(({ injected }) => injected > 0),
    'trouble was made',
  );
});
