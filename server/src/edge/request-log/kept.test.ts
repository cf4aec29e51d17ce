import { expect, test } from 'vitest';
import { createKept, type RequestKind } from './kept.ts';

const add = (
  kept: ReturnType<typeof createKept<{ n: number }>>,
  account: string,
  kind: RequestKind,
  count: number,
) => {
  for (let n = 0; n < count; n++) kept.add(account, kind, () => ({ n }));
};

test('of an account’s second fifteen requests of each kind are kept, and the rest is counted', () => {
  const kept = createKept<{ n: number }>();
  add(kept, 'a', 'reading', 100);
  add(kept, 'a', 'changing', 16);
  add(kept, 'a', 'refused', 20);
  add(kept, 'b', 'reading', 1);
  expect(kept.take().map(({ accountId, rows, leftOut }) => [accountId, rows.length, leftOut])).toEqual([
    ['a', 45, 85 + 1 + 5],
    ['b', 1, 0],
  ]);
  expect(kept.take()).toEqual([]);
});

test('a second begins anew with each take', () => {
  const kept = createKept<{ n: number }>();
  for (let second = 0; second < 3; second++) {
    add(kept, 'a', 'reading', 20);
    expect(kept.take()[0]?.leftOut).toBe(5);
  }
});

test('The next row of an account counts the requests that could not be stored', () => {
  const kept = createKept<{ n: number }>();
  kept.leaveOut('a', 7);
  expect(kept.take()).toEqual([]);
  add(kept, 'a', 'reading', 1);
  expect(kept.take()[0]?.leftOut).toBe(7);
});

test('many accounts share what a process keeps, and what is not kept is not even made', () => {
  const kept = createKept<{ n: number }>();
  let made = 0;
  for (let account = 0; account < 1_000; account++)
    kept.add(`account ${account}`, 'reading', () => {
      made++;
      return { n: 0 };
    });
  expect(kept.take()).toHaveLength(400);
  expect(made).toBe(400);
});
