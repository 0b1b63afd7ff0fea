import test from 'ava';
import { staleLooks } from '../../src/rules/stale-looks.js';

const PASSES_A_MINUTE = 3;

test('up to 10 000 agents each is looked at within 17 minutes, and a pass never has more than 200 to look at', (t) => {
  for (const [online, looks] of [
    [0, 20],
    [100, 20],
    [1_000, 20],
    [1_001, 21],
    [5_000, 100],
    [10_000, 200],
    [50_000, 200],
  ] as const)
    t.is(staleLooks(online), looks, String(online));
  for (let online = 0; online <= 10_000; online += 100) t.true(online / staleLooks(online) / PASSES_A_MINUTE < 17);
});
