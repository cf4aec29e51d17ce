import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Ids } from '../../ports/ids.ts';
import { hashOfKey, keyIdOf, makeKey, sameHash } from './key.ts';

const ids: Ids = { uuid: () => '', bytes: (length) => randomBytes(length) };

test('a key names its mode and its public id, and has 71 characters', () => {
  const made = makeKey(ids, true);
  expect(made.key).toMatch(/^vtm_test_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  expect(made.key).toHaveLength(71);
  expect(keyIdOf(made.key)).toBe(made.id);
  expect(makeKey(ids, false).key.slice(0, 9)).toBe('vtm_live_');
});

test('a key of only zero bytes keeps its length', () => {
  const zeros: Ids = { uuid: () => '', bytes: (length) => Buffer.alloc(length) };
  expect(keyIdOf(makeKey(zeros, true).key)).toBe('000000000000');
});

test('any changed character is refused by the checksum', () => {
  const { key } = makeKey(ids, true);
  for (let at = 0; at < key.length; at++) {
    const other = key[at] === 'x' ? 'y' : 'x';
    expect(keyIdOf(key.slice(0, at) + other + key.slice(at + 1))).toBeNull();
  }
});

test('what is not a key has no id', () => {
  for (const text of ['', 'vtm_test_', 'abc', ' '.repeat(71)]) expect(keyIdOf(text)).toBeNull();
});

test('a hash fits its key and pepper only', () => {
  const { key } = makeKey(ids, true);
  const pepper = randomBytes(32);
  expect(sameHash(hashOfKey(pepper, key), hashOfKey(pepper, key))).toBe(true);
  expect(sameHash(hashOfKey(pepper, key), hashOfKey(randomBytes(32), key))).toBe(false);
});
