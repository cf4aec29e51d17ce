import { expect, test } from 'vitest';
import type { Clock } from '../ports/clock.ts';
import { refreshingCache } from './refreshing-cache.ts';

function handClock(): Clock & { at: number } {
  const clock = {
    at: 0,
    now: () => clock.at,
    machineMs: () => clock.at,
    monotonicMs: () => clock.at,
    sleep: async () => {},
  };
  return clock;
}

test('readers of one key share one read', async () => {
  let reads = 0;
  const names = refreshingCache({
    clock: handClock(),
    maxAgeMs: 1000,
    maxEntries: 10,
    read: async () => `read ${++reads}`,
  });
  expect(await Promise.all([names.get('a'), names.get('a'), names.get('a')])).toEqual([
    'read 1',
    'read 1',
    'read 1',
  ]);
});

test('nothing older than the limit is given out, counted from before the read', async () => {
  const clock = handClock();
  let reads = 0;
  const names = refreshingCache({
    clock,
    maxAgeMs: 1000,
    maxEntries: 10,
    read: async () => {
      clock.at += 400;
      return ++reads;
    },
  });
  await names.get('a');
  clock.at += 599;
  expect(names.get('a')).toBe(1);
  clock.at += 1000;
  expect(await names.get('a')).toBeGreaterThan(1);
});

test('an answer of nothing is asked for again', async () => {
  let reads = 0;
  const names = refreshingCache<string>({
    clock: handClock(),
    maxAgeMs: 1000,
    maxEntries: 10,
    read: async () => {
      reads++;
      return undefined;
    },
  });
  expect(await names.get('a')).toBeUndefined();
  expect(await names.get('a')).toBeUndefined();
  expect(reads).toBe(2);
});

test('a failed read rejects all waiting callers and is not cached', async () => {
  let fail = true;
  const names = refreshingCache({
    clock: handClock(),
    maxAgeMs: 1000,
    maxEntries: 10,
    read: async () => {
      if (fail) throw new Error('database gone');
      return 'fine';
    },
  });
  await expect(names.get('a')).rejects.toThrow('database gone');
  fail = false;
  expect(await names.get('a')).toBe('fine');
});

test('what is forgotten is read anew, also while an older read is under way', async () => {
  const answers: ((value: string) => void)[] = [];
  const names = refreshingCache<string>({
    clock: handClock(),
    maxAgeMs: 1000,
    maxEntries: 10,
    read: () => new Promise((resolve) => answers.push(resolve)),
  });
  const before = names.get('a');
  names.forget('a');
  const after = names.get('a');
  answers[0]?.('old');
  answers[1]?.('new');
  expect(await before).toBe('old');
  expect(await after).toBe('new');
  expect(names.get('a')).toBe('new');
});

test('A cache keeps the last entries, as many as allowed, and never more than twice as many', async () => {
  let reads = 0;
  const names = refreshingCache({
    clock: handClock(),
    maxAgeMs: 1000,
    maxEntries: 2,
    read: async () => ++reads,
  });
  for (const key of ['a', 'b', 'c', 'd', 'e']) await names.get(key);
  expect([names.get('d'), names.get('e')]).toEqual([4, 5]);
  expect(await names.get('a')).toBe(6);
});
