import { expect, test } from 'vitest';
import { cursorOf, cursorOfText, placeOf, textOfCursor } from './cursor.ts';

const key = Buffer.alloc(32, 7);
const place = { createdAt: Date.UTC(2026, 10, 20), id: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42' };
const now = Date.UTC(2026, 10, 21);
const days = 24 * 3600 * 1000;

test('a cursor gives its place back for seven days', () => {
  const cursor = cursorOf(key, 'list', place, now);
  expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(placeOf(key, 'list', cursor, now + 7 * days)).toEqual(place);
  expect(() => placeOf(key, 'list', cursor, now + 7 * days + 1)).toThrow('invalid_cursor');
});

test('a cursor fits its list and its key only', () => {
  const cursor = cursorOf(key, 'list', place, now);
  expect(() => placeOf(key, 'other', cursor, now)).toThrow('invalid_cursor');
  expect(() => placeOf(Buffer.alloc(32, 8), 'list', cursor, now)).toThrow('invalid_cursor');
});

test('any changed character is refused', () => {
  const cursor = cursorOf(key, 'list', place, now);
  for (let at = 0; at < cursor.length; at++) {
    const other = cursor[at] === 'x' ? 'y' : 'x';
    const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
    expect(() => placeOf(key, 'list', changed, now)).toThrow('invalid_cursor');
  }
});

test('a cursor of a text gives it back, and is no cursor of a row', () => {
  const cursor = cursorOfText(key, 'list', 'place', now);
  expect(textOfCursor(key, 'list', cursor, now + 7 * days)).toBe('place');
  expect(() => textOfCursor(key, 'list', cursor, now + 7 * days + 1)).toThrow('invalid_cursor');
  expect(() => textOfCursor(key, 'other', cursor, now)).toThrow('invalid_cursor');
  expect(() => placeOf(key, 'list', cursor, now)).toThrow('invalid_cursor');
  expect(() => textOfCursor(key, 'list', cursorOf(key, 'list', place, now), now)).toThrow('invalid_cursor');
  for (const text of ['', 'AQ', 'x'.repeat(30)])
    expect(() => textOfCursor(key, 'list', text, now)).toThrow('invalid_cursor');
});
