import fc from 'fast-check';
import { expect, test } from 'vitest';
import { feeOf, grossFor } from '../../../panel/src/fee.ts';

test('whatever the fee: of the amount debited the receiver gets exactly what was asked for, and of a cent less he does not', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000_000 }),
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: 0, max: 9_000 }),
      (netCents, feeCents, withdrawalFeeBps) => {
        const fee = { feeCents, withdrawalFeeBps };
        const gross = grossFor(netCents, fee);
        expect(gross - feeOf(gross, fee)).toBe(netCents);
        expect(gross - 1 - feeOf(gross - 1, fee)).toBeLessThan(netCents);
      },
    ),
    { numRuns: 500 },
  );
});
