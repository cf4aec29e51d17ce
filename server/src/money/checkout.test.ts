import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CardApproval, CardChargeback, CheckoutReport } from '../provider/cards.ts';
import { heldCents, isHeld, newCard, refusedMost } from './card.ts';
import { type CardEvent, type CardFacts, type CardStep, nextCheckout } from './checkout.ts';
import { decide, emptyBalance, type Movement } from './decide.ts';
import { newPayment, type Payment } from './payment.ts';
import { newRefund, nextRefund, type Refund, type RefundEvent, type RefundOutcome } from './refund.ts';

/** Card payments as their acquirer reports them: in every order, often, and wrongly. */

const amountCents = 10_000;
const feeCents = 438;
const providerId = '00c0ffee7f0e8a319c1d2b8f7d1a5e42';

const asked = (): Payment =>
  newPayment(
    {
      ...{ accountId: 'a', id: '00c0ffee-7f0e-8a31-9c1d-2b8f7d1a5e42', operationId: 'o', kind: 'deposit' },
      ...{ amountCents, feeCents, requestKey: 'r', fingerprint: Buffer.alloc(0), description: '' },
      ...{ payerName: 'Maria', pixKey: null, pixKeyType: null, command: 'c', card: newCard(60) },
      connection: 'cartoes',
    },
    'unknown',
    1_000,
    { by: 'api', id: 'q' },
  );

const facts = (now: number, more: Partial<CardFacts> = {}): CardFacts => ({
  ...{ now, cause: { by: 'query', id: 'q' }, operationDeleted: false, account: 'acct' },
  refundNamed: (name) => (name === refundId ? { rtrId: null } : undefined),
  ...more,
});

const approval: CardApproval = {
  ...{
    reference: 'pi_1',
    amountCents,
    currency: 'BRL',
    installments: 1,
    at: 2_000,
    brand: 'visa',
    last4: '4242',
  },
  ...{ costCents: 438, releaseAt: 9_000, released: false, refunds: [], chargebacks: [] },
};

const refundId = '11c0ffee7f0e8a319c1d2b8f7d1a5e42';
const refundLine = {
  reference: 're_1',
  providerId: refundId,
  amountCents: 3_000,
  status: 'settled',
  at: 4_000,
} as const;

const chargebackOf = (money: object): CardChargeback => ({
  report: {
    ...{ providerId: 'du_1', endToEnd: 'pi_1', amountCents, status: 'open', reason: 'fraudulent' },
    ...{ openedAt: 5_000, deadlineAt: null },
  },
  ...{ outCents: amountCents, backCents: 0, costCents: 5_500, costBackCents: 0 },
  ...money,
});

const report = (more: Partial<CheckoutReport> = {}): CheckoutReport => ({
  ...{
    providerId,
    providerRef: 'cs_1',
    amountCents,
    currency: 'BRL',
    page: 'open',
    url: 'https://checkout.stripe.com/c/pay/cs_1',
  },
  ...{ expiresAt: 5_000, attempt: null, approval: null },
  ...more,
});

const open = report();
const refused = report({
  attempt: { status: 'refused', refusal: 'expired_card', brand: 'amex', last4: '0005', refusals: 1 },
});
const closed = report({ page: 'closed', url: null });
const paid = report({ page: 'closed', url: null, approval });
const released = report({ page: 'closed', url: null, approval: { ...approval, released: true } });

/** All steps of a payment that is reported so, one report after the other. */
function told(
  reports: readonly CheckoutReport[],
  more: Partial<CardFacts> = {},
): CardStep & { steps: CardStep[] } {
  let payment = asked();
  const steps: CardStep[] = [];
  for (const [at, one] of reports.entries()) {
    const step = nextCheckout(payment, { type: 'reported', report: one }, facts(3_000 + at, more));
    if (!step) continue;
    payment = step.payment;
    steps.push(step);
  }
  const all = <T>(of: (step: CardStep) => T[]): T[] => steps.flatMap(of);
  return {
    ...{ payment, steps, postings: all((one) => one.postings), events: all((one) => one.events) },
    incidents: all((one) => one.incidents),
  };
}

const templates = (step: CardStep): string[] => step.postings.map(({ movement }) => movement.kind);

describe('A card payment', () => {
  it('ends released, approved once and released once, in whatever order and however often its reports come', () => {
    const reports = fc.array(fc.constantFrom(open, refused, closed, paid, released), { maxLength: 12 });
    fc.assert(
      fc.property(reports, (some) => {
        const all = told([...some, released]);
        expect(templates(all)).toEqual(['cardApprove', 'cardRelease']);
        expect(all.payment).toMatchObject({
          status: 'paid',
          card: { settlement: 'available', approval: 'pi_1' },
        });
        expect(all.events.filter((one) => one === 'charge.paid')).toHaveLength(1);
        expect(all.events.filter((one) => one === 'charge.card_available')).toHaveLength(1);
        expect(all.incidents).toEqual([]);
      }),
    );
  });

  it('keeps the page that was known first, whatever a late answer says of another one', () => {
    const late = report({ providerRef: 'cs_0', url: 'https://checkout.stripe.com/c/pay/cs_0' });
    expect(told([open, late, { ...late, page: 'closed' }]).payment).toMatchObject({
      status: 'pending',
      card: { ref: 'cs_1', url: 'https://checkout.stripe.com/c/pay/cs_1' },
    });
  });

  it('follows the page that was paid, whether none was known before or another one', () => {
    const other = { ...paid, providerRef: 'cs_2' };
    for (const reports of [[other], [open, other]])
      expect(told(reports).payment).toMatchObject({ status: 'paid', card: { ref: 'cs_2' } });
  });

  it('is never released by a report that names no release, whatever time it is', () => {
    const later = told([open, paid, { ...paid, approval: { ...approval, releaseAt: 1 } }]);
    expect(templates(later)).toEqual(['cardApprove']);
    expect(later.payment).toMatchObject({ settledAt: null, card: { settlement: 'held', releaseAt: 1 } });
  });

  it('is approved before it is released where one report says both', () => {
    expect(templates(told([released]))).toEqual(['cardApprove', 'cardRelease']);
  });

  it('books what its acquirer keeps as soon as that is named, once', () => {
    const unnamed = { ...paid, approval: { ...approval, costCents: null } };
    const sum = (of: CheckoutReport[]): number[] =>
      told(of).postings.map(({ movement }) => ('costCents' in movement ? movement.costCents : 0));
    expect(sum([paid, released])).toEqual([438, 0]);
    expect(sum([unnamed, released])).toEqual([0, 438]);
  });

  it('leaves the merchant the amount less the fee, and the books at the acquirer what the acquirer has', () => {
    let balance = { ...emptyBalance };
    let clearing = 0;
    for (const { movement } of told([paid, released]).postings) {
      const decision = decide(balance, movement);
      if ('refused' in decision) throw new Error(decision.refused);
      balance = decision.balance;
      clearing -= decision.lines.clearing;
    }
    expect(balance).toEqual({ ...emptyBalance, available: amountCents - feeCents });
    expect(clearing).toBe(amountCents - 438);
  });

  it.each([
    ['amount', { amountCents: 9_999 }],
    ['currency', { currency: 'USD' }],
    ['number of instalments', { installments: 2 }],
    ['cost below zero', { costCents: -1 }],
    ['cost that is all of it', { costCents: amountCents }],
  ])('approved with another %s posts nothing and goes to a person, once', (_what, change) => {
    const wrong = { ...paid, approval: { ...approval, ...change } };
    const all = told([open, wrong, wrong]);
    expect([all.postings, all.payment.status]).toEqual([[], 'pending']);
    expect(new Set(all.incidents.map(({ reference }) => reference)).size).toBe(1);
  });

  it('of another page amount or currency is not believed', () => {
    for (const change of [{ amountCents: 1 }, { currency: 'USD' }]) {
      const all = told([{ ...paid, ...change }]);
      expect([all.postings, all.payment.status, all.incidents.length]).toEqual([[], 'unknown', 1]);
    }
  });

  it('whose page has a second approval beside the first is followed all the same, and the second goes to a person, once', () => {
    const others = [{ reference: 'pi_2', amountCents }];
    for (const reports of [
      [paid, { ...paid, others }, { ...released, others }],
      [
        { ...paid, others },
        { ...released, others },
      ],
    ]) {
      const all = told(reports);
      expect(all.payment.card).toMatchObject({ approval: 'pi_1', settlement: 'available' });
      expect(new Set(all.incidents.map(({ reference }) => reference)).size).toBe(1);
      expect(templates(all).filter((template) => template === 'cardApprove')).toHaveLength(1);
    }
  });

  it('two pages of which were paid has one of them, and the other goes to a person, whichever is reported first', () => {
    const pages = ['pi_1', 'pi_2'].map((reference, at) => ({
      ...paid,
      providerRef: `cs_${at}`,
      approval: { ...approval, reference },
      others: [{ reference: at === 0 ? 'pi_2' : 'pi_1', amountCents }],
    }));
    for (const reports of [pages, pages.toReversed()]) {
      const all = told([...reports, ...reports]);
      expect(templates(all)).toEqual(['cardApprove']);
      const other = reports[1]?.approval.reference;
      expect(new Set(all.incidents.map(({ reference }) => reference))).toEqual(
        new Set([`mismatch:${all.payment.id}:card:approval:${other}`]),
      );
    }
  });

  it('that is paid a second time keeps its first payment, and the second goes to a person', () => {
    const second = { ...released, approval: { ...approval, reference: 'pi_2', released: true } };
    const all = told([paid, second]);
    expect(templates(all)).toEqual(['cardApprove']);
    expect(all.incidents).toHaveLength(1);
    expect(all.payment.card).toMatchObject({ approval: 'pi_1', settlement: 'held' });
  });

  it('loses what its acquirer takes at once, out of what is held, and gets it back when the chargeback is won', () => {
    const taken = (more: object = {}): CheckoutReport => ({
      ...paid,
      approval: { ...approval, chargebacks: [chargebackOf({ ...more })] },
    });
    const open = told([paid, taken()]);
    expect(templates(open)).toEqual(['cardApprove', 'cardSeize']);
    expect(heldCents(open.payment)).toBe(0);
    expect(open.incidents).toMatchObject([{ kind: 'debit', amountCents, freezes: false }]);
    const won = told([paid, taken(), taken({ backCents: amountCents, costBackCents: 5_500 }), taken()]);
    expect(templates(won)).toEqual(['cardApprove', 'cardSeize', 'cardGiveBack']);
    expect(heldCents(won.payment)).toBe(amountCents);
    // It was over before it was seen.
    const late = told([paid, taken({ backCents: amountCents, costBackCents: 5_500 })]);
    expect(heldCents(late.payment)).toBe(amountCents);
  });

  it('of which more is taken than was paid goes to a person', () => {
    const odd = { ...paid, approval: { ...approval, chargebacks: [chargebackOf({ outCents: 10_001 })] } };
    const all = told([paid, odd, odd]);
    expect(templates(all)).toEqual(['cardApprove']);
    expect(new Set(all.incidents.map(({ reference }) => reference)).size).toBe(1);
  });

  it('loses a second refund under the id of one that is known by another line, and one whose record was lost', () => {
    const before = told([paid]).payment;
    const second = { ...refundLine, reference: 're_2' };
    const heard = { ...paid, approval: { ...approval, refunds: [refundLine, second] } };
    const takenWith = (refund: { rtrId: string } | undefined) =>
      nextCheckout(before, { type: 'reported', report: heard }, facts(9_000, { refundNamed: () => refund }))
        ?.payment.card?.taken;
    expect(takenWith({ rtrId: 're_1' })).toMatchObject({ re_2: { outCents: 3_000 } });
    // Under our own id, by which it is not begun again.
    expect(Object.keys(takenWith(undefined) ?? {})).toEqual([refundId]);
  });

  it('of a deleted operation is taken out of suspense, with an incident', () => {
    const before = told([released]).payment;
    const taken = { ...released, approval: { ...approval, released: true, chargebacks: [chargebackOf({})] } };
    const step = nextCheckout(
      before,
      { type: 'reported', report: taken },
      facts(9_000, { operationDeleted: true }),
    );
    expect(step?.postings.map(({ movement }) => movement)).toEqual([
      { kind: 'bookToSuspense', amountCents: -(amountCents + 5_500) },
    ]);
    expect(step?.incidents).toMatchObject([{ kind: 'deleted_operation' }]);
  });

  it('that failed or whose operation is gone is approved without effect: a person decides', () => {
    const failed = nextCheckout(
      asked(),
      { type: 'refused', reason: 'provider_refused' },
      facts(3_000),
    )?.payment;
    const step = failed && nextCheckout(failed, { type: 'reported', report: paid }, facts(4_000));
    expect([step?.postings, step?.incidents.length]).toEqual([[], 1]);
    const gone = told([paid], { operationDeleted: true });
    expect([gone.postings, gone.incidents.length]).toEqual([[], 1]);
  });

  it('counts refusals forward alone', () => {
    const twice = report({ attempt: { ...refused.attempt!, refusals: 2 } });
    const all = told([open, twice, refused, twice]);
    expect(all.payment).toMatchObject({ status: 'pending', card: { refusals: 2 } });
    expect(all.events.filter((one) => one === 'charge.card_refused')).toHaveLength(1);
  });

  it('counts each refused attempt of its page once, in whatever order and however often queries, deliveries and the answer to its creation come', () => {
    const shown = report({ attempt: { ...refused.attempt!, refusals: 1 } });
    const attempts = ['evt_1', 'evt_2', 'evt_3', 'evt_4'];
    const delivered = (attempt: string, page = 'cs_1'): CardEvent => ({
      ...{ type: 'attemptRefused', page, attempt },
    });
    const reported = (one: CheckoutReport): CardEvent => ({ type: 'reported', report: one });
    fc.assert(
      fc.property(
        fc.nat({ max: attempts.length }).chain((count) => {
          const own = attempts.slice(0, count).map((one) => delivered(one));
          const queries = count > 0 ? [reported(shown), reported(open)] : [reported(open)];
          const news = [...own, ...queries, delivered('evt_9', 'cs_2')];
          return fc.tuple(
            fc.constant(count),
            fc.shuffledSubarray([...news, ...news, ...news], { minLength: news.length * 3 }),
          );
        }),
        ([count, news]) => {
          let payment = asked();
          let announced = 0;
          for (const [at, event] of news.entries()) {
            const step = nextCheckout(payment, event, facts(3_000 + at));
            if (step === null) continue;
            expect(step.postings).toEqual([]);
            announced += step.events.filter((one) => one === 'charge.card_refused').length;
            payment = step.payment;
          }
          expect(payment).toMatchObject({ status: 'pending', card: { refusals: count } });
          expect(payment.card?.status).toBe(count > 0 ? 'refused' : null);
          expect(announced).toBeLessThanOrEqual(count);
          expect(announced > 0).toBe(count > 0);
        },
      ),
    );
  });

  it('is approved and expires whatever refused attempts are delivered afterwards, and keeps a bounded number of them', () => {
    const late = (payment: Payment) =>
      nextCheckout(payment, { type: 'attemptRefused', page: 'cs_1', attempt: 'evt_1' }, facts(9_000));
    expect(late(told([open, paid]).payment)).toBeNull();
    const expired = told([open, closed]).payment;
    expect(late(expired)).toBeNull();
    let { payment } = told([open]);
    for (let at = 0; at < 100; at++) {
      const event = { type: 'attemptRefused', page: 'cs_1', attempt: `evt_${at}` } as const;
      payment = nextCheckout(payment, event, facts(4_000 + at))?.payment ?? payment;
    }
    expect(payment.card?.refusals).toBe(refusedMost);
    const step = nextCheckout(payment, { type: 'reported', report: paid }, facts(9_000));
    expect(step?.payment).toMatchObject({ status: 'paid', card: { status: 'paid', refusal: null } });
    const checked = { ...refused.attempt!, status: 'processing' as const, refusals: 0 };
    expect(late(told([open, report({ attempt: checked })]).payment)?.payment.card).toMatchObject({
      ...{ status: 'processing', refusals: 1 },
    });
  });

  it('that is being checked does not expire with its page', () => {
    const checked = {
      ...closed,
      attempt: { ...refused.attempt!, status: 'processing' as const, refusals: 0 },
    };
    expect(told([open, checked]).payment).toMatchObject({
      status: 'pending',
      card: { status: 'processing' },
    });
    expect(told([open, closed]).payment.status).toBe('expired');
  });
});

/** A card payment with a refund of ours: each report is the acquirer's word at some moment of one story. */
describe('A card payment of which refunds and chargebacks take', () => {
  const refundCents = 3_000;
  const feeBackCents = 131;

  /** The acquirer's word after each step of its own story, whichever of them is read. */
  function storyOf(
    released: number,
    refund: { at: number; fails: boolean },
    foreign: number,
    dispute: { at: number; won: number },
  ): CheckoutReport[] {
    return Array.from({ length: 9 }, (_, now): CheckoutReport => {
      const isWon = now >= dispute.won && dispute.won > dispute.at;
      const back = isWon ? { backCents: 4_000, costBackCents: 5_500 } : {};
      const ours = { ...refundLine, status: refund.fails ? ('failed' as const) : ('settled' as const) };
      return {
        ...paid,
        approval: {
          ...approval,
          released: now >= released,
          refunds: [
            ...(now >= refund.at ? [now > refund.at ? ours : { ...ours, status: 'pending' as const }] : []),
            ...(now >= foreign
              ? [{ ...refundLine, reference: 're_2', providerId: null, amountCents: 1_500 }]
              : []),
          ],
          chargebacks: now >= dispute.at ? [chargebackOf({ outCents: 4_000, ...back })] : [],
        },
      };
    });
  }

  it('ends with one balance and with the acquirer’s own, in whatever order and however often its news comes', () => {
    const moment = fc.integer({ min: 0, max: 7 });
    const story = fc.record({
      released: moment,
      refund: fc.record({ at: moment, fails: fc.boolean() }),
      foreign: fc.integer({ min: 0, max: 12 }),
      dispute: fc.record({ at: fc.integer({ min: 0, max: 12 }), won: fc.integer({ min: 0, max: 12 }) }),
      read: fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 10 }),
    });
    fc.assert(
      fc.property(story, ({ released, refund, foreign, dispute, read }) => {
        const words = storyOf(released, refund, foreign, dispute);
        const books = openBooks();
        books.refundIsAsked();
        for (const at of [...read, 8]) books.hears(words[at] as CheckoutReport);
        const isTaken = dispute.at <= 8;
        const isBack = isTaken && dispute.won <= 8 && dispute.won > dispute.at;
        const out =
          (refund.fails ? 0 : refundCents) + (foreign <= 8 ? 1_500 : 0) + (isTaken && !isBack ? 4_000 : 0);
        const cost = isTaken && !isBack ? 5_500 : 0;
        const { balance, acquirer, payment, refundStatus } = books.state();
        expect(refundStatus).toBe(refund.fails ? 'failed' : 'completed');
        expect(acquirer).toBe(amountCents - 438 - out - cost);
        const fee = feeCents - (refund.fails ? 0 : feeBackCents);
        expect(balance).toEqual({
          ...emptyBalance,
          available: Math.max(0, amountCents - fee - out),
          receivable: Math.max(0, out + fee - amountCents),
        });
        expect(payment.card?.settlement).toBe('available');
      }),
      { numRuns: 500 },
    );
  });

  function openBooks() {
    let balance = { ...emptyBalance };
    let acquirer = 0;
    let now = 3_000;
    let payment = asked();
    let refund: Refund | null = null;
    const post = (movement: Movement): void => {
      const decision = decide(balance, movement);
      if ('refused' in decision) throw new Error(decision.refused);
      balance = decision.balance;
      acquirer -= decision.lines.clearing;
      expect(balance.cardHeld).toBeGreaterThanOrEqual(0);
    };
    const hears = (report: CheckoutReport): void => {
      const step = nextCheckout(payment, { type: 'reported', report }, facts(++now));
      for (const { movement } of step?.postings ?? []) post(movement);
      payment = step?.payment ?? payment;
      expect(balance.cardHeld).toBe(heldCents(payment));
      for (const line of report.approval?.refunds ?? []) {
        if (refund === null || line.providerId !== refundId) continue;
        const { amountCents, reference: rtrId, at: settledAt, status } = line;
        const event: RefundEvent =
          status === 'failed'
            ? { type: 'refused', reason: 'provider_refused', reportedCents: amountCents }
            : { type: status === 'settled' ? 'completed' : 'pending', amountCents, rtrId, settledAt };
        const cause = { by: 'query', id: 'q' } as const;
        const made: RefundOutcome | null = nextRefund(refund, event, { now, cause, held: isHeld(payment) });
        if (made === null) continue;
        if (made.posting) post(made.posting.movement);
        refund = made.refund;
        const { card } = payment;
        if (made.card && card)
          payment = {
            ...payment,
            card: {
              ...card,
              outCents: (card.outCents ?? 0) + made.card.outCents,
              feeBackCents: (card.feeBackCents ?? 0) + made.card.feeBackCents,
            },
          };
      }
    };
    return {
      hears,
      refundIsAsked() {
        hears(paid);
        const begun = {
          ...{ accountId: 'a', id: payment.id, operationId: 'o', paymentId: payment.id, endToEnd: 'pi_1' },
          ...{ reason: 'requested' as const, amountCents: refundCents, feeBackCents, description: '' },
          ...{ requestKey: 'k', fingerprint: Buffer.alloc(0), command: 'c' },
        };
        refund = newRefund(begun, now, { by: 'api', id: 'q' });
        post({ kind: 'cardRefundReserve', amountCents: refundCents });
        const { card } = payment;
        if (card) payment = { ...payment, card: { ...card, outCents: refundCents } };
      },
      state: () => ({ balance, acquirer, payment, refundStatus: refund?.status }),
    };
  }
});
