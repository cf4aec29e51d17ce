import { expect, test } from 'vitest';
import { type Pace, paceAfter, paceAtFirst, placesMost } from './pace.ts';
import type { Result } from './schedule.ts';

const answered = (statusCode: number | null, durationMs = 1): Result => ({
  statusCode,
  error: statusCode === null ? 'timed out' : null,
  retryAfterMs: null,
  responseSnippet: '',
  durationMs,
});
const after = (pace: Pace, times: number, result: Result, waits = true): Pace => {
  let last = pace;
  for (let n = 0; n < times; n++) last = paceAfter(last, result, waits);
  return last;
};

test('Answers of a strained endpoint halve its places, and ten successes give one back, up to the first five', () => {
  let pace = paceAfter(paceAtFirst, answered(429), false);
  expect(pace.most).toBe(2);
  pace = paceAfter(paceAfter(pace, answered(502), false), answered(504), false);
  expect(pace.most).toBe(1);
  expect(paceAfter(pace, answered(500), false).most).toBe(1);
  pace = after(pace, 10, answered(200), false);
  expect(pace.most).toBe(2);
  expect(after(pace, 100, answered(200), false).most).toBe(5);
});

test('The places of a receiver that answers in 100 ms double in each 100 ms while events wait', () => {
  const most: number[] = [];
  let pace = paceAtFirst;
  for (let round = 0; round < 6; round++) {
    pace = after(pace, pace.most, answered(200, 100));
    most.push(pace.most);
  }
  expect(most).toEqual([6, 12, 24, 48, placesMost, placesMost]);
});

test('An endpoint for which nothing waits, or that takes two seconds, keeps five places', () => {
  expect(after(paceAtFirst, 1_000, answered(200, 100), false).most).toBe(5);
  expect(after(paceAtFirst, 1_000, answered(200, 2_000)).most).toBe(5);
});

test('A receiver that becomes slower with more places gets half of them, and never less than five', () => {
  const many = after(paceAtFirst, 500, answered(200, 100));
  expect(many.most).toBe(placesMost);
  // The window under way began with quick answers, the next one is slow throughout.
  const fewer = Array.from({ length: 2 * placesMost }, (_, n) => after(many, n, answered(200, 400)).most);
  expect(fewer.find((most) => most < placesMost)).toBe(placesMost / 2);
  const fewest = after(many, 1_000, answered(200, 900), false);
  expect(fewest.most).toBe(5);
  // With five the usual time is measured again, and places come back by ten successes each.
  expect(after(fewest, 10 + 5, answered(200, 900)).most).toBeLessThanOrEqual(7);
  expect(after(fewest, 1_000, answered(200, 900)).most).toBe(placesMost);
});

test('A failure halves the places of an endpoint down to five, and leaves fewer as they are', () => {
  const many = after(paceAtFirst, 500, answered(200, 100));
  expect(paceAfter(many, answered(500), true).most).toBe(placesMost / 2);
  expect(after(many, 20, answered(null, 15_000)).most).toBe(5);
  expect(after(many, 20, answered(429)).most).toBe(1);
});
