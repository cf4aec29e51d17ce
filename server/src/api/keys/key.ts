import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Ids } from '../../ports/ids.ts';

/**
 * The form of an API key: `vtm_<live|test>_<id><secret><crc>`, 71 characters of base62 and underscores, so that one
 * double click selects it.
 *
 * - id: 12 characters, public; shown in lists and logs.
 * - secret: 32 random bytes as 43 characters.
 * - crc: CRC-32 of everything before it as 6 characters, so that a typo or a guess is refused without the database, and
 *   scanners for leaked secrets can tell a key from noise (the scheme of GitHub's and npm's tokens).
 */
const form = /^vtm_(?:live|test)_([0-9A-Za-z]{12})_[0-9A-Za-z]{43}([0-9A-Za-z]{6})$/;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function makeKey(ids: Ids, test: boolean): { id: string; key: string } {
  const id = randomBase62(ids, 12);
  const secret = base62(BigInt(`0x${ids.bytes(32).toString('hex')}`), 43);
  const body = `vtm_${test ? 'test' : 'live'}_${id}_${secret}`;
  return { id, key: body + checksumOf(body) };
}

/** The public id of a key, or null for what cannot be a key. */
export function keyIdOf(key: string): string | null {
  const match = form.exec(key);
  if (!match || checksumOf(key.slice(0, -6)) !== match[2]) return null;
  return match[1] as string;
}

/**
 * HMAC-SHA-256 of the whole key. A slow hash would only help an attacker who wants to keep us busy: 256 random bits cannot be
 * guessed from any hash.
 */
export const hashOfKey = (pepper: Buffer, key: string): Buffer =>
  createHmac('sha256', pepper).update(key).digest();

export const sameHash = (stored: Buffer, presented: Buffer): boolean =>
  stored.length === presented.length && timingSafeEqual(stored, presented);

const checksumOf = (body: string): string => base62(BigInt(crc32(body)), 6);

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text.padStart(length, '0');
}

/** Bytes from 248 up are dropped: 256 is not a multiple of 62, and the first digits would come more often. */
function randomBase62(ids: Ids, length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of ids.bytes(length)) {
      if (byte < 248 && text.length < length) text += digits[byte % 62];
    }
  }
  return text;
}
