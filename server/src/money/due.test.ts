import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaidParts } from '../provider/due-terms.ts';
import { boundsOf, type DueCharge, feeOfReceived, isPaymentOf, partsFit } from './due.ts';
import { newPayment, type Payment } from './payment.ts';
import { factsOfDecision, next, type PaymentEvent } from './state.ts';

const now = Date.UTC(2027, 7, 3, 12);
const due: DueCharge = {
  dueDate: '2027-08-10',
  validAfterDue: 30,
  fine: { type: 'percent', value: 200 },
  interest: { type: 'percent_month', value: 300, days: 'calendar' },
  discounts: [{ until: '2027-08-05', type: 'fixed', value: 500 }],
  rebate: null,
  document: '***.444.777-**',
  fee: { fixedCents: 10, bps: 100 },
  paid: null,
};
const asked = { amountCents: 10_000, due };
const parts = (more: Partial<PaidParts> = {}): PaidParts => ({
  ...{ originalCents: 10_000, fineCents: 0, interestCents: 0, discountCents: 0, rebateCents: 0 },
  ...more,
});

const charge: Payment = {
  ...newPayment(
    {
      accountId: '0193a000-0000-7000-8000-0000000000a1',
      id: 'deadbeef-0123-8456-89ab-cdef01234567',
      operationId: '0193a000-0000-7000-8000-0000000000b2',
      kind: 'deposit',
      amountCents: 10_000,
      feeCents: 110,
      requestKey: '7b3c2a10-0a64-4a57-9a2e-1f0c9e5d7a11',
      fingerprint: Buffer.alloc(33),
      description: '',
      payerName: 'Maria',
      pixKey: null,
      pixKeyType: null,
      command: '0193a000-0000-7000-8000-0000000000c3',
      connection: 'simulator',
      due,
      payer: Buffer.from('sealed'),
    },
    'unknown',
    now - 10_000,
    { by: 'api', id: 'req_1' },
  ),
  status: 'pending',
};

const paidWith = (amountCents: number, of?: PaidParts): PaymentEvent => ({
  ...{ type: 'chargePaid', endToEnd: 'E1', amountCents, paidAt: now },
  ...(of && { parts: of }),
});

describe('A Pix for a due-date charge', () => {
  it.each<[string, number, PaidParts | undefined, boolean]>([
    ['without parts', 10_300, undefined, true],
    ['whose parts add up', 10_300, parts({ fineCents: 200, interestCents: 100 }), true],
    ['whose parts do not add up', 10_301, parts({ fineCents: 200, interestCents: 100 }), false],
    ['whose original is another one', 10_000, parts({ originalCents: 9_900, fineCents: 100 }), false],
    ['with a rebate that was not asked for', 9_900, parts({ rebateCents: 100 }), false],
    ['with its discount', 9_500, parts({ discountCents: 500 }), true],
  ])('%s: do its parts fit?', (_name, amountCents, of, expected) => {
    expect(partsFit(asked, { amountCents, ...(of && { parts: of }) })).toBe(expected);
  });

  it.each<[string, number, boolean]>([
    ['of what was asked', 10_000, true],
    ['of what its terms can lead to', 10_300, true],
    ['of less than its terms can lead to', 9_499, false],
    ['of more than its terms can lead to', 11_000, false],
  ])('%s: is it the payment?', (_name, amountCents, expected) => {
    expect(isPaymentOf(asked, amountCents)).toBe(expected);
  });

  it('is bounded by its terms alone, and never below a cent', () => {
    const bare = { ...due, fine: null, interest: null, discounts: [] };
    expect(boundsOf(10_000, bare)).toEqual({ least: 10_000, most: 10_000 });
    const rebate = { type: 'fixed', value: 10_000 } as const;
    expect(boundsOf(10_000, { ...bare, rebate }).least).toBe(1);
  });

  it('pays the fee of what was received by the rule of its creation, and at most all of it', () => {
    expect(feeOfReceived(charge, 10_300)).toBe(113);
    expect(feeOfReceived(charge, 5)).toBe(5);
    expect(feeOfReceived({ due: null, feeCents: 7 }, 10_300)).toBe(7);
  });

  it('credits what was received, and keeps its parts', () => {
    const of = parts({ fineCents: 200, interestCents: 100 });
    const step = next(charge, paidWith(10_300, of), factsOfDecision(now, { by: 'query', id: 'q' }));
    expect(step?.payment).toMatchObject({
      ...{ status: 'paid', amountCents: 10_000, netAmountCents: 10_187, providerFeeCents: 113 },
      due: { paid: { amountCents: 10_300, parts: of } },
    });
    expect(step?.postings).toMatchObject([
      { movement: { kind: 'credit', amountCents: 10_300, feeCents: 113 } },
    ]);
  });
});

/** The end of all reports, each applied to what the ones before it left, and how often something was credited. */
function endOf(reports: readonly PaymentEvent[]) {
  let payment = charge;
  let credits = 0;
  let incidents = 0;
  for (const report of reports) {
    const step = next(payment, report, factsOfDecision(now, { by: 'webhook', id: 'w' }));
    if (!step) continue;
    ({ payment } = step);
    credits += step.postings.length;
    incidents += step.incidents.length;
  }
  const { status, netAmountCents, due: end } = payment;
  return { status, netAmountCents, paid: end?.paid, credits, incidents };
}

describe('News of a due-date charge', () => {
  it('has the same end in every order, whether or not a report names the parts', () => {
    const of = parts({ fineCents: 200, interestCents: 100 });
    const open: PaymentEvent = {
      ...{ type: 'chargeOpen', amountCents: 10_000, expiresAt: null, copyPaste: '000201', observedAt: now },
    };
    const news = [open, open, paidWith(10_300), paidWith(10_300), paidWith(10_300, of)];
    fc.assert(
      fc.property(fc.shuffledSubarray(news, { minLength: news.length }), (reports) => {
        expect(endOf(reports)).toEqual({
          ...{ status: 'paid', netAmountCents: 10_187, credits: 1, incidents: 0 },
          paid: { amountCents: 10_300, parts: of },
        });
      }),
    );
  });

  it('has the same end in every order when one report names parts that do not fit: credited once, the fitting parts kept, a person looks', () => {
    const fit = parts({ fineCents: 200, interestCents: 100 });
    const unfit = parts({ fineCents: 300, interestCents: 100 });
    const news = [paidWith(10_300), paidWith(10_300, fit), paidWith(10_300, unfit)];
    fc.assert(
      fc.property(fc.shuffledSubarray(news, { minLength: news.length }), (reports) => {
        expect(endOf(reports)).toEqual({
          ...{ status: 'paid', netAmountCents: 10_187, credits: 1, incidents: 1 },
          paid: { amountCents: 10_300, parts: fit },
        });
      }),
    );
  });

  it('that says something else of the Pix that paid it moves nothing, and a person looks', () => {
    const ended = endOf([paidWith(10_300), paidWith(10_400)]);
    expect(ended).toMatchObject({ netAmountCents: 10_187, credits: 1, incidents: 1 });
    const unfit = parts({ fineCents: 300, interestCents: 100 });
    expect(endOf([paidWith(10_300), paidWith(10_300, unfit)])).toMatchObject({
      ...{ credits: 1, incidents: 1, paid: { amountCents: 10_300, parts: null } },
    });
  });
});
