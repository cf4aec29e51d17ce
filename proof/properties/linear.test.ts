import { expect, it } from 'vitest';
import { type Call, explain } from './linear.ts';

const add = (cents: number, beganMs: number, endedMs: number): Call<number> => ({
  name: `+${cents}`,
  beganMs,
  endedMs,
  step: (before) => (before + cents < 0 ? null : before + cents),
});
const seen = (cents: number, beganMs: number, endedMs: number): Call<number> => ({
  name: `=${cents}`,
  beganMs,
  endedMs,
  step: (before) => (before === cents ? before : null),
});

it('calls that overlap may have come in any order, and the order that fits is returned', () => {
  expect(explain(0, [add(-5, 0, 9), add(5, 1, 8)])).toEqual(
    ['+5', '-5'].map((name) => name.replace('-', '+-')),
  );
  expect(explain(0, [seen(3, 0, 9), add(1, 0, 9), add(2, 0, 9)])).toEqual(['+1', '+2', '=3']);
});

it('a call that had its answer comes before one that began later', () => {
  expect(explain(0, [add(-5, 0, 1), add(5, 2, 3)])).toBeNull();
  expect(explain(0, [add(5, 0, 1), seen(0, 2, 3)])).toBeNull();
  expect(explain(0, [add(5, 0, 2), seen(0, 1, 3)])).not.toBeNull();
});

it('money that two calls saw is spent by one of them', () => {
  expect(explain(5, [add(-5, 0, 9), add(-5, 0, 9)])).toBeNull();
});

it('what never ended may have come to pass or not', () => {
  const lost = add(5, 0, Number.POSITIVE_INFINITY);
  expect(explain(0, [lost, seen(0, 1, 2)])).not.toBeNull();
  expect(explain(0, [lost, seen(5, 1, 2)])).not.toBeNull();
  expect(explain(0, [lost, seen(5, 1, 2), seen(0, 3, 4)])).toBeNull();
});
