import fc from 'fast-check';
import { expect, test } from 'vitest';
import { accounts, type Balance, decide, emptyBalance, type Movement } from './decide.ts';

/** An operator's movements among all others, in any order. */
const cents = fc.integer({ min: 1, max: 1_000 });
const fee = fc.integer({ min: 0, max: 50 });

interface Step {
  movement: (balance: Balance, holds: number[]) => Movement | null;
  /** The wanted holds after a step, the oldest first. */
  holds?: (holds: number[]) => number[];
}

const simple = (make: (amountCents: number, feeCents: number) => Movement): fc.Arbitrary<Step> =>
  fc.tuple(cents, fee).map(([amount, feeCents]) => ({ movement: () => make(amount, feeCents) }));

const steps: fc.Arbitrary<Step> = fc.oneof(
  simple((amount, feeCents) => ({ kind: 'credit', amountCents: amount + 50, feeCents })),
  simple((grossCents) => ({ kind: 'reserve', grossCents })),
  simple((amountCents) => ({ kind: 'debit', amountCents })),
  simple((amountCents) => ({ kind: 'debitToSuspense', amountCents })),
  simple((netCents, feeCents) => ({ kind: 'debitLateCompletion', netCents, feeCents })),
  simple((netCents, feeCents) => ({ kind: 'creditNeverLeft', netCents, feeCents })),
  simple((amount, feeCents) => ({ kind: 'creditFromSuspense', amountCents: amount + 50, feeCents })),
  simple((amountCents) => ({ kind: 'writeOff', amountCents: -amountCents })),
  simple((amountCents) => ({ kind: 'bookLoss', amountCents })),
  simple((amountCents) => ({ kind: 'providerCost', amountCents })),
  simple((amountCents) => ({ kind: 'ownMoney', amountCents: -amountCents })),
  cents.map(
    (amount): Step => ({
      movement: ({ receivable }) =>
        receivable > 0 ? { kind: 'waiveDebt', amountCents: Math.min(amount, receivable) } : null,
    }),
  ),
  cents.map(
    (amount): Step => ({
      movement: ({ reserved }) =>
        reserved > 0 ? { kind: 'release', grossCents: Math.min(amount, reserved) } : null,
    }),
  ),
  cents.map(
    (amountCents): Step => ({
      movement: () => ({ kind: 'hold', amountCents }),
      holds: (holds) => [...holds, amountCents],
    }),
  ),
  fc.nat(9).map(
    (which): Step => ({
      movement: ({ held }, holds) => {
        const wanted = holds[which];
        if (wanted === undefined) return null;
        const earlier = holds.slice(0, which).reduce((sum, one) => sum + one, 0);
        const capturedCents = Math.min(Math.max(held - earlier, 0), wanted);
        return { kind: 'releaseHold', capturedCents, wantedCents: wanted - capturedCents };
      },
      holds: (holds) => holds.filter((_, index) => index !== which),
    }),
  ),
);

test('whatever operators do among payments: lines sum to zero, columns follow them, nothing falls below zero, and holds have what there is', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (sequence) => {
      let balance: Balance = { ...emptyBalance };
      let holds: number[] = [];
      for (const step of sequence) {
        const movement = step.movement(balance, holds);
        if (!movement) continue;
        const decision = decide(balance, movement);
        if ('refused' in decision) continue;
        const { lines, balance: after } = decision;
        expect(accounts.reduce((sum, account) => sum + lines[account], 0)).toBe(0);
        expect(after.available).toBe(balance.available + lines.available);
        expect(after.reserved).toBe(balance.reserved + lines.reserved);
        expect(after.held).toBe(balance.held + lines.held);
        expect(after.receivable).toBe(balance.receivable - lines.receivable);
        expect(Math.min(...Object.values(after))).toBeGreaterThanOrEqual(0);
        if (after.available > 0) expect([after.receivable, after.holdWanted]).toEqual([0, 0]);
        balance = after;
        if (step.holds) holds = step.holds(holds);
        expect(balance.held + balance.holdWanted).toBe(holds.reduce((sum, one) => sum + one, 0));
      }
    }),
    { numRuns: 500 },
  );
});

test('a hold cannot give back more than is held, nor a debt be forgiven that is not owed', () => {
  expect(() => decide(emptyBalance, { kind: 'releaseHold', capturedCents: 1, wantedCents: 0 })).toThrow(
    RangeError,
  );
  expect(() => decide(emptyBalance, { kind: 'waiveDebt', amountCents: 1 })).toThrow(RangeError);
  expect(() => decide(emptyBalance, { kind: 'creditFromSuspense', amountCents: 1, feeCents: 2 })).toThrow(
    RangeError,
  );
});
