import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.js';

/** AES-256-GCM ciphertext with the id of its key, as it stands in a jsonb column. */
export interface Sealed {
  keyId: string;
  nonce: string;
  text: string;
}

const PURPOSE = 'sealed-column';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts for one place (`table.column:row id`); opened anywhere else it fails, so ciphertext cannot be moved between rows. */
export const seal = (keys: KeyRing, place: string, plain: string): Sealed => {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keys.key(keys.currentId, PURPOSE), nonce).setAAD(Buffer.from(place));
  const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { keyId: keys.currentId, nonce: nonce.toString('base64'), text: text.toString('base64') };
};

/** Throws when the ciphertext was altered or belongs to another place. */
export const unseal = (keys: KeyRing, place: string, sealed: Sealed): string => {
  const bytes = Buffer.from(sealed.text, 'base64');
  const nonce = Buffer.from(sealed.nonce, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', keys.key(sealed.keyId, PURPOSE), nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
};
