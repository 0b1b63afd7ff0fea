import { randomBytes } from 'node:crypto';
import test from 'ava';
import { KeyRing } from '../../src/models/key-ring.js';
import {
  derivedToken,
  hashToken,
  isToken,
  randomToken,
  type TokenKind,
  tokenPrefixes,
} from '../../src/models/opaque-token.js';

const kinds = Object.keys(tokenPrefixes) as TokenKind[]; // its keys are its type
const aRing = (id = 'k1'): KeyRing => new KeyRing(`${id}:${randomBytes(32).toString('base64')}`);

for (const kind of kinds)
  test(`a ${kind} token is its prefix, 256 bits in base62 and a checksum`, (t) => {
    const tokens = Array.from({ length: 500 }, () => randomToken(kind));
    for (const token of tokens) {
      t.regex(token, new RegExp(`^${tokenPrefixes[kind]}[0-9A-Za-z]{43}[0-9A-Za-z]{6}$`));
      t.true(isToken(kind, token));
      for (const other of kinds.filter((one) => one !== kind)) t.false(isToken(other, token));
    }
    t.is(new Set(tokens).size, tokens.length);
  });

test('a prefix is the start of no other, so a leaked token tells its kind', (t) => {
  const prefixes = Object.values(tokenPrefixes);
  for (const one of prefixes)
    t.deepEqual(
      prefixes.filter((other) => other.startsWith(one)),
      [one],
    );
});

test('a token with one character changed, lost or added is none', (t) => {
  const token = randomToken('bootstrap');
  for (let index = 0; index < token.length; index++) {
    const changed = token[index] === 'x' ? 'y' : 'x';
    t.false(isToken('bootstrap', token.slice(0, index) + changed + token.slice(index + 1)), `changed at ${index}`);
    t.false(isToken('bootstrap', token.slice(0, index) + token.slice(index + 1)), `lost at ${index}`);
  }
  for (const text of ['', `${token}0`, `0${token}`, `${token}\n`, token.toUpperCase(), tokenPrefixes.bootstrap])
    t.false(isToken('bootstrap', text), text);
});

test('a derived token is the same each time', (t) => {
  const ring = aRing();
  const token = derivedToken(ring, 'k1', 'runtimeAccess', 'ses_1', 1);
  t.is(derivedToken(ring, 'k1', 'runtimeAccess', 'ses_1', 1), token);
  t.true(isToken('runtimeAccess', token));
});

test('a derived token differs by key, kind, family and generation', (t) => {
  const secret = randomBytes(32).toString('base64');
  const ring = new KeyRing(`k1:${secret},k2:${randomBytes(32).toString('base64')}`);
  const tokens = [
    derivedToken(ring, 'k1', 'runtimeAccess', 'ses_1', 1),
    derivedToken(ring, 'k1', 'runtimeAccess', 'ses_1', 2),
    derivedToken(ring, 'k1', 'runtimeAccess', 'ses_1', 11),
    derivedToken(ring, 'k1', 'runtimeAccess', 'ses_2', 1),
    derivedToken(ring, 'k1', 'runtimeRefresh', 'ses_1', 1),
    derivedToken(ring, 'k2', 'runtimeAccess', 'ses_1', 1),
    derivedToken(aRing(), 'k1', 'runtimeAccess', 'ses_1', 1),
  ];
  const secrets = tokens.map((token) => token.replace(/^acp_[a-z]+_/, '').slice(0, 43));
  t.is(new Set(secrets).size, secrets.length);
});

test('a family of a key that is gone cannot be derived', (t) => {
  t.throws(() => derivedToken(aRing('k2'), 'k1', 'runtimeAccess', 'ses_1', 1), { message: /no key with id k1/ });
});

test('what is kept of a token is its SHA-256', (t) => {
  t.is(hashToken('acp_x').toString('hex'), 'fd325affef72d1b978c0e45606d416495208994ba7812d601c20451cf7eb9138');
});
