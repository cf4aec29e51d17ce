import { expect, test } from 'vitest';
import { encodingFault, textOf } from './outside-text.ts';

test('A byte order mark in front of a text from outside is not part of it, and one inside is', () => {
  expect(textOf(Buffer.from('\ufeff{"a":1}'))).toBe('{"a":1}');
  expect(textOf(Buffer.from('a\ufeffb'))).toBe('a\ufeffb');
});

test('A file in UTF-16, or in Latin-1, is named as that', () => {
  expect(encodingFault(Buffer.from('\ufeffsegredo', 'utf16le'))).toContain('UTF-16');
  expect(encodingFault(Buffer.from('segredo', 'utf16le'))).toContain('UTF-16');
  expect(encodingFault(Buffer.from('São', 'latin1'))).toContain('not UTF-8');
  expect(encodingFault(Buffer.from('\ufeffSão'))).toBeNull();
});
