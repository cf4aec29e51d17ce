import { expect, test } from 'vitest';
import {
  attemptsOf,
  dayMs,
  isFailing,
  isHopeless,
  mailFor,
  type Result,
  retryAfterMsOf,
  waitAfterMs,
} from './schedule.ts';

const live = { test: false, aheadMs: null };
const answered = (statusCode: number, retryAfterMs: number | null = null): Result => ({
  statusCode,
  error: null,
  retryAfterMs,
  responseSnippet: '',
  durationMs: 1,
});
const middle = 0.5;
const first = { made: 0, triesLeft: 12 };

test('twelve attempts over 75 h 42 min 35 s', () => {
  const waits: number[] = [];
  for (let made = 0; ; made++) {
    const delivery = { made, triesLeft: attemptsOf(live) - made };
    const waitMs = waitAfterMs(live, delivery, answered(500), middle);
    if (waitMs === null) break;
    waits.push(waitMs / 1000);
  }
  expect(waits).toEqual([5, 30, 120, 600, 1800, 7200, 18000, 36000, 50400, 72000, 86400]);
  expect(waits.reduce((sum, one) => sum + one, 0)).toBe(75 * 3600 + 42 * 60 + 35);
});

test.each([
  ['a test account has four attempts', null],
  ['so has what was sent before it got a test clock', 0],
])('%s', (_, aheadMs) => {
  const waits = [4, 3, 2, 1].map((triesLeft) =>
    waitAfterMs({ test: true, aheadMs }, { made: 4 - triesLeft, triesLeft }, answered(500), middle),
  );
  expect(waits).toEqual([5_000, 30_000, 120_000, null]);
});

test('what is sent again begins with the first wait', () => {
  expect(waitAfterMs(live, { made: 30, triesLeft: 12 }, answered(500), middle)).toBe(5_000);
});

test('jitter moves a wait by a tenth at most', () => {
  expect([0, 1].map((jitter) => waitAfterMs(live, first, answered(500), jitter))).toEqual([4_500, 5_500]);
});

test('Retry-After of 429 and 503 is respected, up to a day, and never shortens a wait', () => {
  const wait = (status: number, ms: number) => waitAfterMs(live, first, answered(status, ms), middle);
  expect([wait(429, 60_000), wait(503, 60_000), wait(500, 60_000)]).toEqual([60_000, 60_000, 5_000]);
  expect([wait(429, 1_000), wait(503, 9 * dayMs)]).toEqual([5_000, dayMs]);
});

test('410 ends it', () => {
  expect(waitAfterMs(live, first, answered(410), middle)).toBeNull();
});

test('Retry-After is seconds or a date', () => {
  const now = Date.parse('2026-11-20T20:00:00Z');
  expect(retryAfterMsOf('120', now)).toBe(120_000);
  expect(retryAfterMsOf('Fri, 20 Nov 2026 20:01:00 GMT', now)).toBe(60_000);
  expect(retryAfterMsOf('Fri, 20 Nov 2026 19:01:00 GMT', now)).toBe(0);
  expect([retryAfterMsOf(undefined, now), retryAfterMsOf('soon', now)]).toEqual([null, null]);
});

test('failing: 5 deliveries given up or 20 failed attempts in a row', () => {
  const health = (failedAttempts: number, failedDeliveries: number) => ({
    failedAttempts,
    failedDeliveries,
    failingSince: 0,
  });
  expect([health(19, 4), health(20, 0), health(5, 5)].map(isFailing)).toEqual([false, true, true]);
});

test('hopeless: five days without a success and ten deliveries given up', () => {
  const since = (failedDeliveries: number) => ({ failedAttempts: 99, failedDeliveries, failingSince: 0 });
  expect([isHopeless(since(10), 5 * dayMs), isHopeless(since(9), 9 * dayMs)]).toEqual([true, false]);
  expect(isHopeless(since(10), 5 * dayMs - 1)).toBe(false);
});

test('An endpoint that rests is hopeless by its failed attempts: it may give no delivery up', () => {
  const since = (failedAttempts: number) => ({ failedAttempts, failedDeliveries: 0, failingSince: 0 });
  expect([isHopeless(since(199), 9 * dayMs), isHopeless(since(200), 5 * dayMs)]).toEqual([false, true]);
});

test('mails: when it fails, after one day, after three, and when we disabled it', () => {
  const health = { failedAttempts: 20, failedDeliveries: 0, failingSince: 0 };
  expect([1, dayMs, 3 * dayMs].map((now) => mailFor(health, null, now))).toEqual([1, 2, 3]);
  expect(mailFor(health, 'failing', dayMs)).toBe(4);
  expect(mailFor(health, 'gone', 1)).toBe(4);
  expect(mailFor(health, 'by_request', 9 * dayMs)).toBe(0);
  expect(mailFor({ failedAttempts: 0, failedDeliveries: 0, failingSince: null }, null, 1)).toBe(0);
});
