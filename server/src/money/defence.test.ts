import { describe, expect, test } from 'vitest';
import { endedBy, hindranceOf, mayBeReplaced } from './defence.ts';

const now = 1_000_000;
const open = { status: 'open', deadlineAt: now + 1 } as const;
const ends = ['accepted', 'rejected', 'cancelled'] as const;

describe('the end of a defence by its dispute', () => {
  test('an open dispute in time ends none', () => {
    for (const mayHaveLeft of [false, true]) {
      expect(endedBy(mayHaveLeft, open, now)).toBeNull();
      expect(endedBy(mayHaveLeft, { ...open, deadlineAt: null }, now)).toBeNull();
    }
    expect(hindranceOf(open, now)).toBeNull();
  });

  test('what has not left fails with the deadline, the end, and a defence from elsewhere', () => {
    const failed = (reason: string) => ({ status: 'failed', reason });
    expect(endedBy(false, { ...open, deadlineAt: now }, now)).toEqual(failed('deadline_over'));
    expect(endedBy(false, { ...open, status: 'defending' }, now)).toEqual(failed('already_defended'));
    for (const status of ends)
      expect(endedBy(false, { ...open, status }, now)).toEqual(failed('dispute_ended'));
  });

  test('what may have left fails with none of them, and is sent once the provider shows it', () => {
    expect(endedBy(true, { ...open, deadlineAt: now }, now)).toBeNull();
    expect(endedBy(true, { ...open, status: 'defending' }, now)).toEqual({ status: 'completed' });
    for (const status of ends) expect(endedBy(true, { ...open, status }, now)).toEqual({ status: 'expired' });
  });
});

test('only one that the provider refused for what it says makes room for another', () => {
  expect(mayBeReplaced({ reason: 'provider_refused' })).toBe(true);
  for (const reason of ['deadline_over', 'already_defended', 'dispute_ended', null] as const)
    expect(mayBeReplaced({ reason })).toBe(false);
});
