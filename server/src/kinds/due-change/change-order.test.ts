import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DueCharge } from '../../money/due.ts';
import { newPayment, type Payment } from '../../money/payment.ts';
import { factsOfDecision } from '../../money/state.ts';
import type { DueTerms } from '../../provider/due-terms.ts';
import type { Capabilities, ChargeReport, ReceivedPix } from '../../provider/provider.ts';
import { interpret, runEvents } from '../payment/interpret-report.ts';
import type { LastSent } from '../reading.ts';

/** A charge with a due date while it is changed from 100 to 50 reais and to another day; reports of both come in any order. */

const now = Date.UTC(2027, 7, 3, 12);
const before: DueTerms = {
  ...{ dueDate: '2027-08-10', validAfterDue: 30, interest: null, discounts: [], rebate: null },
  fine: { type: 'percent', value: 200 },
};
const after: DueTerms = { ...before, dueDate: '2027-09-10' };
const due: DueCharge = {
  ...before,
  ...{ document: '***.444.777-**', fee: { fixedCents: 10, bps: 100 }, paid: null },
  ...{ changes: 1, change: { id: 'change', amountCents: 5_000, terms: after } },
};
const charge: Payment = {
  ...newPayment(
    {
      ...{ accountId: 'a', id: 'deadbeef-0123-8456-89ab-cdef01234567', operationId: 'o', kind: 'deposit' },
      ...{ amountCents: 10_000, feeCents: 110, requestKey: 'k', fingerprint: Buffer.alloc(33) },
      ...{ description: '', payerName: 'Maria', pixKey: null, pixKeyType: null, command: 'c' },
      ...{ connection: 'bank', due, payer: Buffer.from('sealed') },
    },
    'unknown',
    now - 10_000,
    { by: 'api', id: 'req_1' },
  ),
  status: 'pending',
};
const [firstDeadline, secondDeadline] = [now + 86_400_000, now + 31 * 86_400_000];

const reported = (revision: number, more: Partial<ChargeReport> = {}): ChargeReport => ({
  ...{ txid: 'deadbeef', status: 'open', createdAt: now, copyPaste: '000201', received: [] },
  ...(revision === 1
    ? { amountCents: 5_000, expiresAt: secondDeadline, due: { terms: after, revision } }
    : { amountCents: 10_000, expiresAt: firstDeadline, due: { terms: before, revision } }),
  ...more,
});
const pix = (amountCents: number): ReceivedPix => ({
  ...{ endToEnd: 'E1', amountCents, paidAt: now, txid: 'deadbeef', returns: [] },
});
type News = { query: ChargeReport; at?: number; isList?: true } | { delivery: ReceivedPix };

/** The end of all news, each applied to what the news before it left. */
function endOf(news: readonly News[], from = charge, sent?: LastSent) {
  let payment = from;
  let [credits, incidents] = [0, 0];
  for (const one of news) {
    const about = interpret(
      'query' in one
        ? {
            ...{ from: 'query', id: 'q', startedAt: one.at ?? now, ...(one.isList && { isList: true }) },
            outcome: { outcome: 'found', report: one.query },
          }
        : { from: 'webhook', id: 'w', received: [one.delivery], payouts: [] },
    );
    const can = { refusalIsFinal: true, repeatIsSafe: true } as Capabilities;
    const reading = about.read({ payment, intent: undefined, returns: [], changeSent: sent }, can);
    const facts = factsOfDecision(now, { by: 'query', id: 'q' });
    for (const step of runEvents(payment, reading?.events ?? [], facts)) {
      ({ payment } = step);
      credits += step.postings.length;
      incidents += step.incidents.length;
    }
  }
  const { status, amountCents, feeCents, expiresAt, netAmountCents, due: end } = payment;
  return {
    ...{ status, amountCents, feeCents, expiresAt, netAmountCents, credits, incidents },
    ...{ dueDate: end?.dueDate, paid: end?.paid?.amountCents, isOpen: end?.change !== undefined, payment },
  };
}

const inEveryOrder = (news: readonly News[], check: (end: ReturnType<typeof endOf>) => void): void =>
  fc.assert(
    fc.property(fc.shuffledSubarray([...news], { minLength: news.length }), (some) => {
      check(endOf(some));
    }),
  );

describe('A change of a due-date charge', () => {
  it('is carried out by what its provider shows, and lists that lag change nothing back, in every order', () => {
    const old = { query: reported(0) };
    inEveryOrder([old, old, { query: reported(1) }, { query: reported(1) }], (end) =>
      expect(end).toMatchObject({
        ...{ status: 'pending', amountCents: 5_000, feeCents: 60, dueDate: '2027-09-10' },
        ...{ isOpen: false, credits: 0, incidents: 0 },
      }),
    );
    expect(endOf([{ query: reported(1) }, old]).expiresAt).toBe(secondDeadline);
  });

  it.each([
    ['before', 10_000],
    ['after', 5_000],
  ])('and a Pix of the terms %s it have one end in every order: paid and credited once', (_name, cents) => {
    const paid: Partial<ChargeReport> = { status: 'paid', received: [pix(cents)] };
    const news: News[] = [
      ...[{ query: reported(0) }, { query: reported(1) }, { delivery: pix(cents) }],
      { query: reported(1, paid) },
    ];
    const feeCents = 10 + cents / 100;
    inEveryOrder(news, (end) =>
      expect(end).toMatchObject({
        ...{ status: 'paid', amountCents: 5_000, paid: cents, netAmountCents: cents - feeCents },
        ...{ dueDate: '2027-09-10', isOpen: false, credits: 1, incidents: 0 },
      }),
    );
  });

  it('does not end the charge by the deadline that it had before', () => {
    const late = firstDeadline + 3_600_000;
    expect(endOf([{ query: reported(1) }, { query: reported(0), at: late }]).status).toBe('pending');
    // While the change is under way nothing ends it either: the two would end otherwise by their order.
    inEveryOrder([{ query: reported(1) }, { query: reported(0), at: late }], (end) =>
      expect(end).toMatchObject({ status: 'pending', expiresAt: secondDeadline, isOpen: false }),
    );
    expect(endOf([{ query: reported(0), at: late }]).status).toBe('pending');
  });

  it('to what the charge asked for before is seen under a later number alone', () => {
    const { payment } = endOf([{ query: reported(1) }]);
    const back = {
      ...payment,
      due: { ...(payment.due as DueCharge), change: { id: 'back', amountCents: 10_000, terms: before } },
    };
    expect(endOf([{ query: reported(0) }], back)).toMatchObject({ amountCents: 5_000, isOpen: true });
    const again = reported(0, { due: { terms: before, revision: 2 } });
    expect(endOf([{ query: again }], back)).toMatchObject({ amountCents: 10_000, isOpen: false });
  });

  it('to what the charge asked for before is seen, where no number is said, by a query that began after it was sent alone', () => {
    const unnumbered = (one: ChargeReport, terms: DueTerms): ChargeReport => ({
      ...one,
      due: { terms, revision: null },
    });
    const { payment } = endOf([{ query: unnumbered(reported(1), after) }]);
    const back = {
      ...payment,
      due: { ...(payment.due as DueCharge), change: { id: 'back', amountCents: 10_000, terms: before } },
    };
    const query = unnumbered(reported(0), before);
    const open = { amountCents: 5_000, isOpen: true, incidents: 0 };
    const done = { amountCents: 10_000, isOpen: false, incidents: 0 };
    const sent: LastSent = { attemptEndedAt: now, fence: 'f' };
    expect(endOf([{ query, at: now - 1 }], back, sent)).toMatchObject(open);
    expect(endOf([{ query, isList: true, at: now + 9_000 }], back, sent)).toMatchObject(open);
    expect(endOf([{ query, at: now + 1 }], back, { ...sent, attemptEndedAt: null })).toMatchObject(open);
    expect(endOf([{ query, at: now + 1 }], back)).toMatchObject(open);
    expect(endOf([{ query, at: now }], back, sent)).toMatchObject(done);
  });

  it('of which nothing was asked is a matter for a person, and moves nothing', () => {
    const other = reported(1, { amountCents: 7_000 });
    expect(endOf([{ query: other }, { delivery: pix(7_000) }])).toMatchObject({
      ...{ status: 'pending', amountCents: 10_000, incidents: 2 },
    });
  });

  it('is seen by a Pix whose parts, or whose amount alone, are of the change', () => {
    const none = { fineCents: 0, interestCents: 0, discountCents: 0, rebateCents: 0 };
    const told: ReceivedPix = { ...pix(5_000), parts: { originalCents: 5_000, ...none } };
    for (const delivery of [told, pix(5_000)])
      expect(endOf([{ delivery }])).toMatchObject({ status: 'paid', amountCents: 5_000, incidents: 0 });
  });
});
