import { describe, expect, it } from 'vitest';
import type { Dispute } from '../money/dispute.ts';
import type { DisputeReport } from '../provider/dispute-report.ts';
import { saysNothingNew } from './poll.ts';

describe('A dispute in a list of its provider', () => {
  const facts = { status: 'accepted', amountCents: 1_000, deadlineAt: null } as const;
  const known = (debitedCents: number) => ({ ...facts, debitedCents }) as Dispute;
  const report = (debitedCents?: number): DisputeReport => ({
    ...{ ...facts, providerId: 'du_1', endToEnd: 'pi_1', reason: null, openedAt: 1 },
    ...(debitedCents !== undefined && { debitedCents }),
  });

  it('is news where its money has moved without a new status', () => {
    expect(saysNothingNew(known(0), report(1_000))).toBe(false);
    expect(saysNothingNew(known(1_000), report(0))).toBe(false);
    expect(saysNothingNew(known(1_000), report(1_000))).toBe(true);
  });

  it('is no news by what was taken beside what is disputed, nor where the provider does not say what it took', () => {
    expect(saysNothingNew(known(1_000), report(1_200))).toBe(true);
    expect(saysNothingNew(known(0), report(-200))).toBe(true);
    expect(saysNothingNew(known(400), report())).toBe(true);
  });
});
