import { hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;

/**
 * The keys at rest: the first one encrypts and derives, the others only open what was sealed before.
 * Written as `<id>:<base64 of 32 bytes>[,…]`.
 */
export class KeyRing {
  readonly currentId: string;
  readonly #keys: Map<string, Buffer>;

  constructor(text: string) {
    const entries = text.split(',').map(parseKey);
    this.#keys = new Map(entries);
    if (this.#keys.size < entries.length) throw new Error('ENCRYPTION_KEYS names a key twice');
    this.currentId = text.slice(0, text.indexOf(':')).trim();
  }

  get ids(): string[] {
    return [...this.#keys.keys()];
  }

  has(id: string): boolean {
    return this.#keys.has(id);
  }

  /** The key for one purpose; keys of different purposes tell nothing of each other (RFC 5869). */
  key(id: string, purpose: string): Buffer {
    const key = this.#keys.get(id);
    if (!key) throw new Error(`no key with id ${id} in ENCRYPTION_KEYS`);
    return Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES));
  }
}

const parseKey = (entry: string): [string, Buffer] => {
  const [id = '', base64 = ''] = entry.trim().split(/:(.*)/s);
  const key = Buffer.from(base64, 'base64');
  if (!/^[\w-]{1,32}$/.test(id) || key.length !== KEY_BYTES)
    throw new Error('ENCRYPTION_KEYS must be `<id>:<base64 of 32 bytes>`, comma separated');
  return [id, key];
};
