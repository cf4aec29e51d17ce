import { expect, test } from 'vitest';
import type { Clock } from '../ports/clock.ts';
import { gather } from './gather.ts';

/** Sleeping moves its time on at once. */
function handClock(): Clock & { at: number; slept: number[] } {
  const clock = {
    at: 0,
    slept: [] as number[],
    now: () => clock.at,
    machineMs: () => clock.at,
    monotonicMs: () => clock.at,
    sleep: async (ms: number) => {
      clock.slept.push(ms);
      clock.at += ms;
    },
  };
  return clock;
}

test('what is asked for in one turn shares one piece of work, and each caller gets its own result', async () => {
  const pieces: number[][] = [];
  const double = gather<number, number>({ clock: handClock(), most: 10 }, async (items) => {
    pieces.push([...items]);
    return items.map((item) => item * 2);
  });
  expect(await Promise.all([double(1), double(2), double(3)])).toEqual([2, 4, 6]);
  expect(pieces).toEqual([[1, 2, 3]]);
});

test('who asks while a piece is under way waits for the next one, which begins after it was asked for', async () => {
  let stored = 'old';
  const seen: string[] = [];
  const open: (() => void)[] = [];
  const read = gather<string, string>({ clock: handClock(), most: 10 }, async (items) => {
    const value = stored;
    seen.push(items.join());
    await new Promise<void>((resolve) => open.push(resolve));
    return items.map(() => value);
  });
  const first = read('a');
  await Promise.resolve();
  await Promise.resolve();
  stored = 'new';
  const others = [read('b'), read('c')];
  open.shift()?.();
  expect(await first).toBe('old');
  open.shift()?.();
  expect(await Promise.all(others)).toEqual(['new', 'new']);
  expect(seen).toEqual(['a', 'b,c']);
});

test('a piece has at most so many items, and after one of several the next waits for its pace', async () => {
  const clock = handClock();
  const pieces: [number, number][] = [];
  const note = gather<number, void>({ clock, most: 2, paceMs: 20 }, async (items) => {
    pieces.push([clock.at, items.length]);
    return items.map(() => undefined);
  });
  await Promise.all([note(1), note(2), note(3)]);
  expect(pieces).toEqual([
    [0, 2],
    [20, 1],
  ]);
  expect(clock.slept).toEqual([20]);
});

test('who asks one after the other never waits', async () => {
  const clock = handClock();
  const note = gather<number, void>({ clock, most: 2, paceMs: 20 }, async (items) =>
    items.map(() => undefined),
  );
  for (let n = 0; n < 5; n++) await note(n);
  expect(clock.slept).toEqual([]);
});

test('what a piece throws reaches its callers alone; the next piece works', async () => {
  let fails = true;
  const work = gather<number, number>({ clock: handClock(), most: 10 }, async (items) => {
    if (fails) throw new Error('no connection');
    return [...items];
  });
  const both = await Promise.allSettled([work(1), work(2)]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await work(3)).toBe(3);
});
