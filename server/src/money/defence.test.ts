import { describe, expect, test } from 'vitest';
import type { DefenceOutcome } from '../provider/provider.ts';
import { afterAttempt, beforeAttempt, mayBeReplaced } from './defence.ts';

const now = 1_000_000;
const unclear: DefenceOutcome = {
  outcome: 'unclear',
  cause: 'network',
  detail: 'lost',
  retryAfterMs: null,
};
const refused = (reason: 'deadline_over' | 'already_defended' | 'provider_refused'): DefenceOutcome => ({
  outcome: 'refused',
  reason,
  detail: '',
});

describe('after an attempt', () => {
  test('only the answer to the only attempt fails a defence', () => {
    for (const reason of ['deadline_over', 'already_defended', 'provider_refused'] as const)
      expect(afterAttempt(1, refused(reason), now)).toEqual({ status: 'failed', reason, attempts: 1 });
    for (const reason of ['deadline_over', 'provider_refused'] as const)
      expect(afterAttempt(2, refused(reason), now)).toMatchObject({ status: 'unknown', attempts: 2 });
  });

  test('a defence that is there after an unclear attempt is ours', () => {
    expect(afterAttempt(2, refused('already_defended'), now)).toEqual({ status: 'sent', attempts: 2 });
  });

  test('what is unclear stays unclear and is repeated, later each time and when the provider asks for it', () => {
    const dueAt = (attempts: number, outcome: DefenceOutcome = unclear): number => {
      const turned = afterAttempt(attempts, outcome, now);
      if (turned.status !== 'unknown' || turned.dueAt === null) throw new Error(turned.status);
      return turned.dueAt;
    };
    expect(dueAt(2)).toBeGreaterThan(dueAt(1));
    expect(dueAt(50)).toBe(now + 600_000);
    expect(dueAt(1, { ...unclear, retryAfterMs: 3_600_000 })).toBe(now + 3_600_000);
  });

  test('one that certainly did not go out does not count', () => {
    const notSent: DefenceOutcome = { outcome: 'notSent', detail: '' };
    expect(afterAttempt(1, notSent, now)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(afterAttempt(2, notSent, now)).toMatchObject({ status: 'unknown', attempts: 1 });
  });
});

describe('before an attempt', () => {
  const open = { status: 'open', deadlineAt: now + 1 } as const;
  const before = (attempts: number, dispute: Parameters<typeof beforeAttempt>[1]) =>
    beforeAttempt({ attempts }, dispute, now);

  test('an open dispute in time is answered', () => {
    for (const attempts of [0, 1]) {
      expect(before(attempts, open)).toBeNull();
      expect(before(attempts, { ...open, deadlineAt: null })).toBeNull();
    }
  });

  test('what has not left fails with the deadline, the end, and a defence from elsewhere', () => {
    expect(before(0, { ...open, deadlineAt: now })).toEqual({ status: 'failed', reason: 'deadline_over' });
    expect(before(0, { ...open, status: 'defending' })).toEqual({
      status: 'failed',
      reason: 'already_defended',
    });
    for (const status of ['accepted', 'rejected', 'cancelled'] as const)
      expect(before(0, { ...open, status })).toEqual({ status: 'failed', reason: 'dispute_ended' });
  });

  test('what may have left fails with none of them, and is sent once the provider shows it', () => {
    expect(before(1, { ...open, deadlineAt: now })).toMatchObject({ status: 'unknown' });
    expect(before(1, { ...open, status: 'defending' })).toEqual({ status: 'sent' });
    for (const status of ['accepted', 'rejected', 'cancelled'] as const)
      expect(before(1, { ...open, status })).toEqual({ status: 'unknown', dueAt: null });
  });
});

test('only one that the provider refused for what it says makes room for another', () => {
  expect(mayBeReplaced({ status: 'failed', reason: 'provider_refused' })).toBe(true);
  for (const reason of ['deadline_over', 'already_defended', 'dispute_ended'] as const)
    expect(mayBeReplaced({ status: 'failed', reason })).toBe(false);
  for (const status of ['pending', 'unknown', 'sent'] as const)
    expect(mayBeReplaced({ status, reason: null })).toBe(false);
});
