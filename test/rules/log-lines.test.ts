import test from 'ava';
import { logTail } from '../../src/rules/log-lines.js';

const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
const log = `${at(1)} one\n${at(2)} two\nmore of two\n${at(3)} three\n`;

test('the last lines, with their times', (t) => {
  t.deepEqual(logTail(log, 2, 100, false), {
    lines: [
      { at: at(2), text: 'more of two' },
      { at: at(3), text: 'three' },
    ],
    truncated: false,
  });
  t.is(logTail(log, 500, 100, false).lines.length, 4);
  t.deepEqual(logTail('', 5, 100, false), { lines: [], truncated: false });
  t.deepEqual(logTail('no time', 5, 100, false).lines, [{ at: null, text: 'no time' }]);
  t.deepEqual(logTail('2026-01-01T00:00:00Z x', 5, 100, false).lines, [{ at: '2026-01-01T00:00:00.000Z', text: 'x' }]);
});

test('what does not fit goes, the oldest first, and that is told', (t) => {
  t.deepEqual(logTail(log, 500, 5, false), { lines: [{ at: at(3), text: 'three' }], truncated: true });
  t.deepEqual(logTail(log, 500, 4, false), { lines: [], truncated: true });
});

test('of a text that was cut the first line is not whole', (t) => {
  const { lines, truncated } = logTail(log.slice(5), 500, 100, true);
  t.deepEqual(
    lines.map(({ text }) => text),
    ['two', 'more of two', 'three'],
  );
  t.true(truncated);
  t.false(logTail(log.slice(5), 3, 100, true).truncated, 'all that was asked for is there');
});
