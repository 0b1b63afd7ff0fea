import test from 'ava';
import { cutOutput } from '../../src/rules/cut-output.js';

const size = (text: string): number => Buffer.byteLength(text);

test('what fits stays as it is', (t) => {
  t.deepEqual(cutOutput({ stdout: 'abc', stderr: 'de' }, 5), { stdout: 'abc', stderr: 'de', truncated: false });
  t.deepEqual(cutOutput({ stdout: '', stderr: '' }, 0), { stdout: '', stderr: '', truncated: false });
});

test('each has half, and what the other leaves', (t) => {
  t.deepEqual(cutOutput({ stdout: 'aaaaaaaa', stderr: 'b' }, 6), { stdout: 'aaaaa', stderr: 'b', truncated: true });
  t.deepEqual(cutOutput({ stdout: 'a', stderr: 'bbbbbbbb' }, 6), { stdout: 'a', stderr: 'bbbbb', truncated: true });
  t.deepEqual(cutOutput({ stdout: 'aaaaaaaa', stderr: 'bbbbbbbb' }, 7), {
    stdout: 'aaaa',
    stderr: 'bbb',
    truncated: true,
  });
});

test('no character is cut in two, at any limit', (t) => {
  const text = 'a€ä𝄞'.repeat(3);
  for (let max = 0; max < size(text) * 2; max++) {
    const { stdout, stderr, truncated } = cutOutput({ stdout: text, stderr: text }, max);
    t.true(truncated && size(stdout) + size(stderr) <= max, `${max}: ${stdout} ${stderr}`);
    t.true(text.startsWith(stdout) && text.startsWith(stderr), `${max}: ${stdout} ${stderr}`);
    t.true(size(stdout) + size(stderr) > max - 8, 'no more is lost than must be');
  }
});
