import test from 'ava';
import { inLanes } from '../../activities/reconcile/in-lanes.js';

test('the first failure ends every lane, and nothing is under way when it is thrown', async (t) => {
  const [begun, ended]: [number[], number[]] = [[], []];
  let [failSecond, letOthersEnd] = [() => {}, () => {}];
  const second = new Promise<void>((resolve) => (failSecond = resolve));
  const others = new Promise<void>((resolve) => (letOthersEnd = resolve));
  const done = inLanes([0, 1, 2, 3, 4, 5], 3, async (item) => {
    begun.push(item);
    await (item === 1 ? second : others);
    if (item === 1) throw new Error('the second');
    ended.push(item);
  });
  let isThrown = false;
  const thrown = t.throwsAsync(done, { message: 'the second' }).then(() => (isThrown = true));
  failSecond();
  await new Promise(setImmediate);
  t.false(isThrown, 'two are under way');
  letOthersEnd();
  await thrown;
  t.deepEqual(begun, [0, 1, 2]);
  t.deepEqual(new Set(ended), new Set([0, 2]));
});
