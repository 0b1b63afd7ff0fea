import { randomBytes } from 'node:crypto';
import test from 'ava';
import { KeyRing } from '../../src/models/key-ring.js';

const base64 = (bytes = 32): string => randomBytes(bytes).toString('base64');

test('the first key is the current one, whatever stands around it', (t) => {
  t.is(new KeyRing(`k1:${base64()}`).currentId, 'k1');
  t.is(new KeyRing(` 2026-11:${base64()} `).currentId, '2026-11');
  const ring = new KeyRing(`new:${base64()}, old:${base64()}`);
  t.is(ring.currentId, 'new');
  t.is(ring.key('old', 'x').length, 32);
});

test('keys of different ids and purposes have nothing in common', (t) => {
  const text = `a:${base64()},b:${base64()}`;
  const ring = new KeyRing(text);
  const keys = [ring.key('a', 'one'), ring.key('a', 'two'), ring.key('b', 'one'), ring.key('b', 'two')];
  t.is(new Set(keys.map((key) => key.toString('hex'))).size, 4);
  t.deepEqual(new KeyRing(text).key('a', 'one'), keys[0], 'and are the same in every process');
  for (const key of keys) t.false(text.includes(key.toString('base64')), 'the key itself encrypts nothing');
});

test('text that is no key ring is refused without being repeated', (t) => {
  const good = base64();
  const refused = [
    '',
    'k1',
    'k1:',
    `:${good}`,
    good,
    `k1:${base64(31)}`,
    `k1:${base64(33)}`,
    `k 1:${good}`,
    `${'k'.repeat(33)}:${good}`,
    `k1:${good},`,
    `k1:${good},k2`,
  ];
  for (const text of refused) {
    const error = t.throws(() => new KeyRing(text), undefined, text);
    t.is(error.message, 'ENCRYPTION_KEYS must be `<id>:<base64 of 32 bytes>`, comma separated');
  }
});

test('a key that is not there is named', (t) => {
  t.throws(() => new KeyRing(`k1:${base64()}`).key('k9', 'x'), { message: 'no key with id k9 in ENCRYPTION_KEYS' });
});
