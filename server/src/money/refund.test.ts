import fc from 'fast-check';
import { expect, it } from 'vitest';
import { newPayment } from './payment.ts';
import { feeBackOf } from './refund.ts';

const chargeOf = (receivedCents: number, feeCents: number) => ({
  ...newPayment(
    {
      accountId: '0193a000-0000-7000-8000-0000000000a1',
      id: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42',
      operationId: '0193a000-0000-7000-8000-0000000000b2',
      kind: 'deposit',
      amountCents: receivedCents,
      feeCents,
      requestKey: '4a0e8f52-5a4e-4a63-8ff0-0d5c2a9b7c31',
      fingerprint: Buffer.alloc(32),
      description: '',
      payerName: null,
      pixKey: null,
      pixKeyType: null,
      command: '0193a000-0000-7000-8000-0000000000c3',
      connection: null,
    },
    'unknown',
    0,
    { by: 'query', id: '0193a000-0000-7000-8000-0000000000d4' },
  ),
  status: 'paid' as const,
  providerFeeCents: feeCents,
  netAmountCents: receivedCents - feeCents,
});

it.each([
  [1_000, 25, 1_000, 25],
  [1_000, 25, 500, 13],
  [1_000, 25, 20, 1],
  [1_000, 25, 19, 0],
  [1_000, 0, 1_000, 0],
  // Products beyond what a number holds exactly.
  [100_000_000, 99_999_999, 99_999_999, 99_999_998],
  [99_999_999, 99_999_997, 50_000_001, 50_000_000],
  [100_000_000, 33_333_333, 99_999_999, 33_333_333],
  [100_000_000, 33_333_333, 50_000_001, 16_666_667],
])('of %d with a fee of %d, a refund of %d brings back %d', (received, fee, amountCents, back) => {
  expect(feeBackOf(chargeOf(received, fee), { feeBasisCents: 0, feeBackCents: 0 }, amountCents)).toBe(back);
});

it('never brings back more than the fee, and the whole fee when everything is refunded, whatever fails in between', () => {
  const charge = fc
    .integer({ min: 2, max: 1_000_000 })
    .chain((received) => fc.tuple(fc.constant(received), fc.nat(received - 1)));
  const steps = fc.array(fc.record({ part: fc.nat(), fails: fc.nat(), does: fc.boolean() }), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(charge, steps, ([received, fee], all) => {
      const alive: { amountCents: number; feeBackCents: number }[] = [];
      const sumOf = (field: 'amountCents' | 'feeBackCents') =>
        alive.reduce((sum, one) => sum + one[field], 0);
      const ask = (amountCents: number) => {
        const earlier = { feeBasisCents: sumOf('amountCents'), feeBackCents: sumOf('feeBackCents') };
        const feeBackCents = feeBackOf(chargeOf(received, fee), earlier, amountCents);
        expect(Number.isSafeInteger(feeBackCents) && feeBackCents >= 0).toBe(true);
        alive.push({ amountCents, feeBackCents });
        expect(sumOf('feeBackCents')).toBeLessThanOrEqual(fee);
      };
      for (const { part, fails, does } of all) {
        const left = received - sumOf('amountCents');
        if (does && alive.length > 0) alive.splice(fails % alive.length, 1);
        else if (left > 0) ask(1 + (part % left));
      }
      const left = received - sumOf('amountCents');
      if (left > 0) ask(left);
      expect(sumOf('feeBackCents')).toBe(fee);
    }),
  );
});
