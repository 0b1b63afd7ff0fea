import test from 'ava';
import { settingsOnly } from '../../src/rules/settings-only.js';

const secretNames =
  `token tokens botToken bot_token BOT-TOKEN accessTokenValue refreshtoken hasBotToken apiKey apiKeys api_key APIKey apikey
  X-Api-Key openaiKey key keys keyFile private_key privateKeyPem accessKeyId signing-key encryptionKey secret clientSecret secrets secretKey
  password smtpPassword passwd pass auth.pass passphrase pwd credential credentials googleCredentials cookie cookies cookieJar bearer
  auth authorization Authorization oauth2 session sessions sessionData sessionid connection connections connected connectedAt
  qr qrCode otp totp pin webhookUrl jwt token2`.split(/\s+/);

const harmlessNames =
  `greeting tone keyboard monkey tokenizer keywords author authors passive passenger bypass publicKey shortcutKey sortKeys
  keyPoints secretary obsession connector pinned pineapple qrious cookielike language enabled model voice compass hotkey notebook
  bearing typing spin`.split(/\s+/);

for (const value of ['x', ['x'], { deep: { er: 'x' } }, [{ deep: 'x' }]])
  test(`a secret's name takes all beneath it along: ${JSON.stringify(value)}`, (t) => {
    for (const name of secretNames) {
      t.deepEqual(settingsOnly({ [name]: value }), {}, name);
      t.deepEqual(settingsOnly({ a: { [name]: value, b: 1 } }), { a: { b: 1 } }, name);
      t.deepEqual(settingsOnly({ a: [[{ [name]: value, b: 1 }]] }), { a: [[{ b: 1 }]] }, name);
    }
    t.log(`${secretNames.length} names`);
  });

test('harmless names stay, at every depth', (t) => {
  for (const name of harmlessNames) {
    const settings = { [name]: 'x', a: [{ [name]: ['x', 1, true, null] }] };
    t.deepEqual(settingsOnly(settings), settings, name);
  }
  t.log(`${harmlessNames.length} names`);
});

test('an amount and a switch are no secrets; that there is a token or a connection does not travel', (t) => {
  const settings = {
    maxTokens: 4_096,
    tokenBudget: 9,
    sessionTimeoutSeconds: 60,
    requireAuth: true,
    pinMessages: false,
  };
  t.deepEqual(settingsOnly(settings), settings);
  t.deepEqual(settingsOnly({ hasBotToken: true, connected: false, pin: 1_234, otp: 99, maxTokens: 'x' }), {});
});

// Put together here, so that nobody's scanner takes them for real ones.
const credentials = {
  ours: `acp_at_${'a1'.repeat(20)}`,
  'a JWT': ['eyJhbGciOiJI', 'eyJzdWIiOiIx', 'sig'].join('.'),
  PEM: ['-----BEGIN', 'PRIVATE', 'KEY-----\nMIIE'].join(' '),
  bearer: 'Bearer abc',
  'bearer within': 'send Authorization: Bearer a1b2c3d4e5 with it',
  'user and password in an address': 'https://ada:pw@example.com/x',
  'password in an address': 'redis://:pw@example.com',
  'a token in a query': 'https://example.com/feed?lang=en&access_token=x',
  'a bot': `123456789:${'A'.repeat(35)}`,
  'a vendor': `sk-${'a1'.repeat(12)}`,
};
for (const [what, text] of Object.entries(credentials))
  test(`a string that is a credential by its form does not travel under any name: ${what}`, (t) => {
    t.deepEqual(settingsOnly({ note: text, list: ['kept', text], deep: [{ note: text, kept: 1 }], [text]: 1 }), {
      list: ['kept'],
      deep: [{ kept: 1 }],
    });
  });

test('strings that only look random, or tell of credentials, stay', (t) => {
  const settings = {
    voice: '21m00Tcm4TlvDq8ikWAM',
    room: 'b7f6a1de-5a0c-4a53-9a52-0c5d2b1f4a77',
    home: 'https://example.com/@ada?page=2',
    mail: 'ada@example.com',
    say: 'The bearer of good news has a basic understanding of tokens.',
    ratio: '12:30',
  };
  t.deepEqual(settingsOnly(settings), settings);
});

test('a pair of a name and its value is judged by the name', (t) => {
  const headers = [
    { name: 'X-Api-Key', value: 'x' },
    { key: 'Accept', value: 'text/html' },
  ];
  t.deepEqual(settingsOnly({ headers }), { headers: [{ key: 'Accept', value: 'text/html' }] });
});
