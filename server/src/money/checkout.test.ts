import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CardApproval, CheckoutReport } from '../provider/cards.ts';
import { newCard } from './card.ts';
import { type CardFacts, type CardStep, nextCheckout } from './checkout.ts';
import { decide, emptyBalance } from './decide.ts';
import { newPayment, type Payment } from './payment.ts';

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
  ...{ costCents: 438, releaseAt: 9_000, released: false, takenBackCents: 0 },
};

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

  it('that is paid a second time keeps its first payment, and the second goes to a person', () => {
    const second = { ...released, approval: { ...approval, reference: 'pi_2', released: true } };
    const all = told([paid, second]);
    expect(templates(all)).toEqual(['cardApprove']);
    expect(all.incidents).toHaveLength(1);
    expect(all.payment.card).toMatchObject({ approval: 'pi_1', settlement: 'held' });
  });

  it('is not released while its acquirer has taken something back', () => {
    const taken = { ...released, approval: { ...approval, released: true, takenBackCents: 1 } };
    const all = told([paid, taken]);
    expect([templates(all), all.payment.card?.settlement, all.incidents.length]).toEqual([
      ['cardApprove'],
      'held',
      1,
    ]);
    expect(templates(told([paid, taken, released]))).toEqual(['cardApprove', 'cardRelease']);
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
