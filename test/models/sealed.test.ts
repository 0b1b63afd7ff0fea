import { randomBytes } from 'node:crypto';
import test from 'ava';
import { KeyRing } from '../../src/models/key-ring.js';
import { seal, type Sealed, unseal } from '../../src/models/sealed.js';

const aKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const ring = new KeyRing(aKey('k1'));
const PLACE = 'agents.sealed_bot_token:agt_1';

test('what was sealed is opened at its place', (t) => {
  for (const plain of ['', 'a', 'ünïcödé 🤖', 'x'.repeat(100_000)]) {
    const sealed = seal(ring, PLACE, plain);
    t.is(unseal(ring, PLACE, sealed), plain);
    t.is(unseal(ring, PLACE, JSON.parse(JSON.stringify(sealed)) as Sealed), plain, 'also after a jsonb column');
  }
});

test('nothing of the text shows, and the same text never looks the same', (t) => {
  const [one, two] = [seal(ring, PLACE, 'secret-text'), seal(ring, PLACE, 'secret-text')];
  for (const sealed of [one, two]) {
    t.false(JSON.stringify(sealed).includes('secret-text'));
    t.false(Buffer.from(sealed.text, 'base64').includes('secret-text'));
  }
  t.not(one.nonce, two.nonce);
  t.not(one.text, two.text);
});

test('ciphertext moved to another row or column is refused', (t) => {
  const sealed = seal(ring, PLACE, 'secret');
  for (const place of ['agents.sealed_bot_token:agt_2', 'gateway_tokens.sealed:agt_1', '', `${PLACE} `])
    t.throws(() => unseal(ring, place, sealed), undefined, place);
});

test('altered ciphertext is refused', (t) => {
  const sealed = seal(ring, PLACE, 'secret');
  const bytes = Buffer.from(sealed.text, 'base64');
  for (let index = 0; index < bytes.length; index++) {
    const altered = Buffer.from(bytes);
    altered[index] = (altered[index] ?? 0) ^ 1;
    t.throws(() => unseal(ring, PLACE, { ...sealed, text: altered.toString('base64') }), undefined, `byte ${index}`);
  }
  for (const part of [
    { nonce: randomBytes(12).toString('base64') },
    { nonce: '' },
    { text: '' },
    { text: bytes.subarray(0, -1).toString('base64') },
  ])
    t.throws(() => unseal(ring, PLACE, { ...sealed, ...part }), undefined, JSON.stringify(part));
});

test('an old key still opens, and the new one seals', (t) => {
  const [oldKey, newKey] = [aKey('k1'), aKey('k2')];
  const before = seal(new KeyRing(oldKey), PLACE, 'secret');
  const rotated = new KeyRing(`${newKey},${oldKey}`);
  t.is(unseal(rotated, PLACE, before), 'secret');
  const after = seal(rotated, PLACE, 'secret');
  t.is(after.keyId, 'k2');
  t.is(unseal(rotated, PLACE, after), 'secret');
  t.throws(() => unseal(new KeyRing(newKey), PLACE, before), { message: 'no key with id k1 in ENCRYPTION_KEYS' });
});

test('another key under the same name opens nothing', (t) => {
  t.throws(() => unseal(new KeyRing(aKey('k1')), PLACE, seal(ring, PLACE, 'secret')));
});
