/** Words of a name that make what is under it a credential, a token or a connection, in the singular. */
const secretWords = new Set(
  `token secret password passwd passphrase passcode pass pwd credential cred cookie bearer auth authorization authentication
  oauth oauth2 jwt pem session sessionid connected connection dsn webhook qr qrcode otp totp pin`.split(/\s+/),
);

/** The same, run together with what is before them: `bottoken`, `apikey`. */
const secretEnding =
  /(token|secret|password|passwd|passphrase|credential|cookie|(api|access|private|secret|signing|encryption|auth)key)$/;

/** A key is a credential unless it is said to be another kind. */
const harmlessKeys = new Set(
  'public sort shortcut hot primary foreign partition translation message answer'.split(' '),
);
/** What follows where `key` opens a name and is no adjective, as it is in `keyPoints`. */
const keyParts = new Set('id file data material value pair store'.split(' '));

/** With one of these a number only measures: `maxTokens`, `sessionTimeoutSeconds`. */
const measures = new Set('max min limit budget count timeout seconds minutes hours days size length'.split(' '));

/** `botToken2`, `BOT_TOKEN`, `bot-token` → bot, token. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

const isSecretKey = (words: string[], index: number): boolean => {
  const [before, after] = [words[index - 1], words[index + 1]];
  if (before !== undefined) return !harmlessKeys.has(before);
  return after === undefined || keyParts.has(after);
};

const isSecretWord = (word: string, index: number, words: string[]): boolean => {
  const bare = word.replace(/\d+$/, '');
  const singular = secretWords.has(bare) ? bare : bare.replace(/s$/, '');
  if (singular === 'key') return isSecretKey(words, index);
  return secretWords.has(word) || secretWords.has(singular) || secretEnding.test(singular);
};

/** Whether what goes by this name would let a copy act as the original. In doubt it does: a setting that is lost is soon set again. */
export const isSecretName = (name: string): boolean => wordsOf(name).some(isSecretWord);

/** Whether a setting of a secret's name is no secret: an amount, or a switch that does not tell of a connection. */
export const isHarmless = (name: string, value: unknown): boolean => {
  const words = wordsOf(name);
  if (typeof value === 'number') return words.some((word) => measures.has(word));
  return typeof value === 'boolean' && words[0] !== 'has' && !words.some((word) => word.startsWith('connect'));
};
