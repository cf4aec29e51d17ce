import { expect, test } from 'vitest';
import { createKept } from './kept.ts';

const add = (
  kept: ReturnType<typeof createKept<{ n: number }>>,
  account: string,
  refused: boolean,
  count: number,
) => {
  for (let n = 0; n < count; n++) kept.add(account, refused, () => ({ n }));
};

test('of an account’s second fifteen refused requests and fifteen others are kept, and the rest is counted', () => {
  const kept = createKept<{ n: number }>();
  add(kept, 'a', false, 100);
  add(kept, 'a', true, 20);
  add(kept, 'b', false, 1);
  const rows = kept.take();
  expect(rows).toHaveLength(15 + 15 + 1);
  expect(rows.map(({ leftOut }) => leftOut).filter((leftOut) => leftOut > 0)).toEqual([85 + 5]);
  expect(kept.take()).toEqual([]);
});

test('a second begins anew with each take', () => {
  const kept = createKept<{ n: number }>();
  for (let second = 0; second < 3; second++) {
    add(kept, 'a', false, 20);
    expect(
      kept
        .take()
        .map(({ leftOut }) => leftOut)
        .at(-1),
    ).toBe(5);
  }
});

test('many accounts share what a process keeps, and what is not kept is not even made', () => {
  const kept = createKept<{ n: number }>();
  let made = 0;
  for (let account = 0; account < 1_000; account++)
    kept.add(`account ${account}`, false, () => {
      made++;
      return { n: 0 };
    });
  expect(kept.take()).toHaveLength(400);
  expect(made).toBe(400);
});
