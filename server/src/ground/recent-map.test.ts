import { expect, test } from 'vitest';
import { recentMap } from './recent-map.ts';

test('A bounded memory finds the last entries that were set, and not those before twice as many', () => {
  const map = recentMap<number>(10);
  for (let n = 0; n < 100; n++) {
    map.set(`${n}`, n);
    for (let back = 0; back < Math.min(10, n); back++) expect(map.get(`${n - back}`)).toBe(n - back);
    expect(map.get(`${n - 20}`)).toBeUndefined();
  }
});

test('A bounded memory shows the value that was set last, and none that was deleted', () => {
  const map = recentMap<string>(1);
  map.set('a', 'first');
  map.set('b', 'other');
  map.set('a', 'second');
  expect(map.get('a')).toBe('second');
  map.set('a', 'third');
  map.set('b', 'other');
  map.delete('a');
  expect([map.get('a'), map.get('b')]).toEqual([undefined, 'other']);
});
