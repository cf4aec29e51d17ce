import { expect, test } from 'vitest';
import { figuresOf } from './figures.ts';

test('a fee that comes back with a refund is taken off the fees of the day, also where there are none', () => {
  const sums = [
    { template: 'credit', available: 970, held: 0, receivable: 0, feeRevenue: 30 },
    { template: 'refundReserve', available: -1_000, held: 0, receivable: 0, feeRevenue: 0 },
    { template: 'refundComplete', available: 20, held: 10, receivable: 0, feeRevenue: -30 },
  ];
  const fees = { reservedCents: 0, releasedCents: 0 };
  const figures = { inCents: 1_000, outCents: 0, feeCents: 0, refundCents: 1_000, holdCents: 10 };
  expect(figuresOf(sums, fees)).toEqual(figures);
  const [charge, , completed] = sums;
  expect(figuresOf(completed ? [completed] : [], fees)).toMatchObject({ feeCents: -30, holdCents: 10 });
  expect(figuresOf(charge ? [charge] : [], fees)).toMatchObject({ feeCents: 30 });
});
