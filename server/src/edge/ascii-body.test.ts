import { expect, test } from 'vitest';
import { bytesOfAscii } from './ascii-body.ts';

test('A long body of ASCII is sent as the bytes that its UTF-8 form has', () => {
  const body = JSON.stringify({ code: 'iVBORw0KGgo'.repeat(400) });
  expect(bytesOfAscii(body)).toEqual(Buffer.from(body));
});

test.each([
  ['a letter beyond ASCII', 'a'.repeat(5_000) + 'ã'],
  ['a letter beyond latin1', 'a'.repeat(5_000) + '€'],
  ['a pair of surrogates', 'a'.repeat(5_000) + '💸'],
  ['a lone surrogate', 'a'.repeat(5_000) + '\ud800'],
  ['a short body', '{}'],
  ['bytes', Buffer.alloc(5_000)],
  ['no body', null],
])('%s is sent as it is', (_what, body) => {
  expect(bytesOfAscii(body)).toBe(body);
});
