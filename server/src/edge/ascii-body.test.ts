import { expect, test } from 'vitest';
import { bytesOfAscii } from './ascii-body.ts';

test('A long body of ASCII is sent as the bytes that its UTF-8 form has', () => {
  const body = JSON.stringify({ code: 'iVBORw0KGgo'.repeat(400) });
  expect(bytesOfAscii(body)).toEqual(Buffer.from(body));
});

const long = 'a'.repeat(5_000);

test.each([
  ['a letter beyond ASCII', `${long}ã`],
  ['a letter beyond latin1', `${long}€`],
  ['a pair of surrogates', `${long}💸`],
  ['a lone surrogate', `${long}\ud800`],
  ['a short body', '{}'],
  ['bytes', Buffer.alloc(5_000)],
  ['no body', null],
])('%s is sent as it is', (_what, body) => {
  expect(bytesOfAscii(body)).toBe(body);
});
