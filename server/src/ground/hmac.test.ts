import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hmacSha256 } from './hmac.ts';

test('it is the one of RFC 2104, whatever key and text', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.string({ unit: 'binary', maxLength: 300 }),
      (key, text) => {
        const expected = createHmac('sha256', key).update(text, 'utf8').digest('hex');
        expect(hmacSha256(Buffer.from(key))(text).toString('hex')).toBe(expected);
      },
    ),
  );
});

test('one after the other under one key does not mix them', () => {
  const mac = hmacSha256(Buffer.from('Jefe'));
  mac('something else, and longer than the next one');
  // RFC 4231, test case 2.
  expect(mac('what do ya want for nothing?').toString('hex')).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
});

test('a key of exactly a block is none that is too long, a longer one is refused', () => {
  const key = Buffer.alloc(64, 7);
  expect(hmacSha256(key)('x')).toEqual(createHmac('sha256', key).update('x').digest());
  expect(() => hmacSha256(Buffer.alloc(65))).toThrow(RangeError);
});
