import { expect, test } from 'vitest';
import { systemClock } from '../ports/clock.ts';
import { attempts } from './attempts.ts';

const clockAt = () => {
  const clock = { ...systemClock, at: 0, monotonicMs: () => clock.at };
  return clock;
};

test('ten attempts are let through within a quarter of an hour, the eleventh is refused until the first is old', () => {
  const clock = clockAt();
  const counted = attempts(clock);
  for (let n = 0; n < 10; n++) counted.take('ana');
  expect(() => counted.take('ana')).toThrow();
  counted.take('bia');
  clock.at += 15 * 60_000;
  counted.take('ana');
});

test('what is kept is bounded, however many and however long the names are', () => {
  const counted = attempts(clockAt());
  for (let n = 0; n < 30_000; n++) counted.count(`${n}@`.padEnd(254, 'x'));
  expect(counted.size).toBe(20_000);
  for (let n = 0; n < 10; n++) counted.count('ana');
  expect(() => counted.require('ana')).toThrow();
});

test('what was counted longest ago is forgotten first', () => {
  const counted = attempts(clockAt(), 2);
  counted.count('ana');
  for (let n = 0; n < 19_999; n++) counted.count(String(n));
  counted.count('ana');
  counted.count('one more');
  expect(() => counted.require('ana')).toThrow();
});
