import { expect, test } from 'vitest';
import { nextStep } from './clock.ts';

const now = 1_000_000;
const row = { aheadMs: 0, targetAheadMs: 10_000, movedAt: now - 1 };
const quiet = { charges: [], deadlines: [], working: false };

test('a clock moves to the next deadline and no further', () => {
  const waiting = { ...quiet, charges: [{ id: 'a', dueAt: now + 700 }], deadlines: [now + 300, now + 900] };
  expect(nextStep(row, waiting, now)).toEqual({ what: 'move', byMs: 300 });
});

test('a clock moves no further than it was asked to', () => {
  const waiting = { ...quiet, deadlines: [now + 90_000] };
  expect(nextStep({ ...row, aheadMs: 9_000 }, waiting, now)).toEqual({ what: 'move', byMs: 1_000 });
});

test('what is due is carried out before the clock moves on, or stops', () => {
  const wait = { what: 'wait', expire: [] };
  expect(nextStep(row, { ...quiet, working: true }, now)).toEqual(wait);
  expect(nextStep({ ...row, aheadMs: 10_000 }, { ...quiet, deadlines: [now] }, now)).toEqual(wait);
  expect(nextStep(row, { ...quiet, charges: [{ id: 'a', dueAt: now }] }, now)).toEqual({
    what: 'wait',
    expire: ['a'],
  });
});

test('due work that is never done does not hold a clock up without an end', () => {
  const stuck = { ...quiet, working: true, deadlines: [now - 5] };
  expect(nextStep({ ...row, movedAt: now - 60_000 }, stuck, now)).toEqual({ what: 'move', byMs: 10_000 });
});

test('a clock that has arrived stops', () => {
  expect(nextStep({ ...row, aheadMs: 10_000 }, quiet, now)).toEqual({ what: 'stop' });
});
