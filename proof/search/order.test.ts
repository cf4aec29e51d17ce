import { capabilities } from '@vintem/testkit/capabilities.ts';
import { describe, expect, it } from 'vitest';
import { applyOutcome } from '../../server/src/flow/apply.ts';
import { buildDisputeReport } from '../../server/src/flow/report-command.ts';
import { observedRefund } from '../../server/src/kinds/payment/refund-lines.ts';
import { newCard } from '../../server/src/money/card.ts';
import { newPayment, providerIdOf } from '../../server/src/money/payment.ts';
import { newRefund } from '../../server/src/money/refund.ts';
import { buildHold, buildHoldRelease } from '../../server/src/operate/accounts/holds.ts';
import type { CardApproval, CardRefund } from '../../server/src/provider/cards.ts';
import type { DisputeStatus } from '../../server/src/provider/dispute-report.ts';
import type { PixReturn } from '../../server/src/provider/provider.ts';
import { accountId, type Columns, connection, Memory, nothingStored, operationId } from './memory.ts';
import { start } from './model.ts';

/**
 * News has the same end in every order: each set of news reaches the commands of the service in all of its orders, and the books are
 * compared at the end. What is compared does not depend on which of two debts of one merchant came first: what it owns, what holds want, what
 * stands in suspense, and what is known of each dispute.
 */
const paymentId = '0190a000-0000-8000-8000-0000000000c1';
const refundId = '0190a000-0000-8000-8000-0000000000d1';
const place = { accountId, paymentId, operationId, connection };
const pixCents = 1_000;
/** Of the operation, from other charges. */
const otherCents = 5_000;

type News = (memory: Memory) => Promise<unknown>;
/** `after`: news of the same thing that a source never reports after this. */
type Told = { name: string; after?: string; tell: News };

const charge = {
  ...newPayment(
    {
      accountId,
      id: paymentId,
      operationId,
      kind: 'deposit',
      amountCents: pixCents,
      feeCents: 10,
      requestKey: paymentId,
      fingerprint: Buffer.alloc(33),
      description: '',
      payerName: 'Maria',
      pixKey: null,
      pixKeyType: null,
      connection,
      command: '',
    },
    'unknown',
    start,
    { by: 'api', id: 'r' },
  ),
  status: 'pending' as const,
};

const columns: Columns = {
  available: otherCents,
  reserved: 0,
  held: 0,
  receivable: 0,
  holdWanted: 0,
  cardHeld: 0,
  frozen: false,
  deleted: false,
};

const runtimeOf = (memory: Memory) => memory.runtime(capabilities, { transferWaitMs: 0 });

/** A report of the charge: the Pix that it received, with what was returned of it. */
const report =
  (endToEnd: string, amountCents: number, ...returns: PixReturn[]): News =>
  (memory) =>
    applyOutcome(
      runtimeOf(memory),
      {
        ...place,
        kind: 'deposit',
        observation: {
          from: 'webhook',
          id: 'w',
          received: [{ endToEnd, amountCents, paidAt: start, txid: providerIdOf(paymentId), returns }],
          payouts: [],
        },
      },
      Number.POSITIVE_INFINITY,
    );

const back = (id: string, amountCents: number): PixReturn => ({
  id,
  rtrId: `D${id}`,
  amountCents,
  at: start + 10_000,
  status: 'settled',
});

let made = 0;
const token = (): string => `0190a000-0000-7000-9000-${(++made).toString(16).padStart(10, '0')}00`;

const dispute =
  (providerId: string, amountCents: number, status: DisputeStatus, endToEnd = 'E1'): News =>
  (memory) =>
    runtimeOf(memory).till.submit(
      buildDisputeReport({
        ...place,
        livemode: false,
        report: {
          providerId,
          endToEnd,
          amountCents,
          status,
          reason: null,
          openedAt: start,
          deadlineAt: null,
        },
        token: token(),
        deadlineMs: 0,
      }),
    );

const hold =
  (amountCents: number): News =>
  (memory) =>
    runtimeOf(memory).till.submit(
      buildHold({
        accountId,
        operationId,
        amountCents,
        reason: 'x',
        actor: 'x',
        token: token(),
        deadlineMs: 0,
      }),
    );

/** A person releases what is held for disputes. */
const release: News = (memory) => {
  const open = memory.stored.holds.find((one) => one.placedBy === 'dispute' && one.releasedAt === null);
  return runtimeOf(memory).till.submit(
    buildHoldRelease({
      accountId,
      operationId,
      id: open?.id ?? '',
      disputed: paymentId,
      reason: null,
      actor: 'x',
      token: token(),
      deadlineMs: 0,
    }),
  );
};

const refundCompletes: News = (memory) =>
  applyOutcome(
    runtimeOf(memory),
    observedRefund({ accountId, id: refundId, operationId, paymentId, reason: 'requested' }, connection, {
      from: 'charge',
      cause: { by: 'query', id: 'q' },
      line: {
        id: providerIdOf(refundId),
        rtrId: 'Drefund',
        amountCents: 300,
        at: start,
        status: 'settled',
      },
    }),
    Number.POSITIVE_INFINITY,
  );

/** The charge is paid, and a refund of a part of it is on its way. */
async function withRefund(memory: Memory): Promise<void> {
  await report('E1', pixCents)(memory);
  const refund = newRefund(
    {
      accountId,
      id: refundId,
      operationId,
      paymentId,
      endToEnd: 'E1',
      reason: 'requested',
      amountCents: 300,
      feeBackCents: null,
      description: '',
      requestKey: refundId,
      fingerprint: Buffer.alloc(33),
      command: token(),
    },
    start,
    { by: 'api', id: 'r' },
  );
  const { available, reserved } = memory.columns;
  memory.columns = { ...memory.columns, available: available - 300, reserved: reserved + 300 };
  memory.stored = { ...memory.stored, refunds: [refund] };
}

const opened: Told = { name: 'a dispute of a part', tell: dispute('1', 600, 'open') };
const ends = (status: DisputeStatus): Told => ({
  name: `it is ${status}`,
  after: opened.name,
  tell: dispute('1', 600, status),
});
const whole: Told = { name: 'a dispute of the whole', tell: dispute('2', pixCents, 'open') };
const late: Told = { name: 'the other is rejected', tell: dispute('2', pixCents, 'rejected') };
const paid: Told = { name: 'the payment', tell: report('E1', pixCents) };
const taken: Told = { name: 'a debit', tell: report('E1', pixCents, back('a', 600)) };
const takenTwice: Told = {
  name: 'another debit',
  after: taken.name,
  tell: report('E1', pixCents, back('a', 600), back('b', 150)),
};
const held: Told = { name: 'a hold of a person', tell: hold(2_000) };
const refunded: Told = { name: 'the refund', tell: refundCompletes };
const second: Told = { name: 'a second Pix', tell: report('E2', 400) };
const secondTaken: Told = {
  name: 'a debit of it',
  after: second.name,
  tell: report('E2', 400, back('c', 400)),
};
const ofSecond: Told = { name: 'a dispute of it', tell: dispute('3', 400, 'open', 'E2') };

const alike: Told = { name: 'a dispute of as much', tell: dispute('4', 600, 'open') };
const acceptedAlike: Told = {
  name: 'that is accepted',
  after: alike.name,
  tell: dispute('4', 600, 'accepted'),
};

const sets: { name: string; begins?: News; news: Told[] }[] = [
  { name: 'an accepted dispute', news: [paid, opened, ends('accepted'), taken, held] },
  {
    name: 'an accepted dispute that is rejected after all',
    news: [paid, opened, ends('accepted'), { ...ends('rejected'), after: 'it is accepted' }, taken],
  },
  {
    name: 'two disputes of one amount and a debit of it',
    news: [paid, opened, ends('accepted'), alike, acceptedAlike, taken],
  },
  { name: 'a rejected dispute', news: [paid, opened, ends('rejected'), taken, held] },
  { name: 'two disputes and two debits', news: [paid, opened, ends('accepted'), whole, taken, takenTwice] },
  { name: 'a refund', begins: withRefund, news: [refunded, opened, ends('accepted'), taken, held] },
  {
    name: 'a refund beside two disputes',
    begins: withRefund,
    news: [refunded, opened, ends('rejected'), whole],
  },
  {
    name: 'two Pix',
    news: [paid, second, secondTaken, ofSecond, opened, taken].filter((one) => one !== paid),
  },
];

function orders(news: readonly Told[]): Told[][] {
  if (news.length === 0) return [[]];
  return news.flatMap((one, at) => {
    const rest = news.toSpliced(at, 1);
    // Later news of the same source is not repeated after it.
    return rest.some(({ name }) => name === one.after) ? [] : orders(rest).map((order) => [one, ...order]);
  });
}

async function endOf(begins: News | undefined, order: readonly Told[]) {
  const memory = new Memory({ ...nothingStored, payment: charge }, columns, start + 20_000);
  await begins?.(memory);
  for (const { tell } of order) {
    memory.now += 1_000;
    await tell(memory);
  }
  const { stored } = memory;
  const { available, held: captured, receivable, holdWanted, reserved } = memory.columns;
  const open = new Set(stored.holds.filter(({ releasedAt }) => releasedAt === null).map(({ id }) => id));
  return {
    owned: available + captured - receivable,
    reserved,
    wanted: captured + holdWanted,
    suspense: stored.suspense,
    clearing: stored.clearing,
    status: stored.payment?.status,
    refundedCents: stored.payment?.refundedCents,
    ofDisputes: stored.holds
      .filter(({ id, placedBy }) => open.has(id) && placedBy === 'dispute')
      .reduce((cents, { wantedCents: one }) => cents + one, 0),
    disputes: stored.disputes
      .map(({ providerId, status, amountCents, debitedCents }) => ({
        providerId,
        status,
        amountCents,
        debitedCents,
      }))
      .sort((one, other) => (one.providerId < other.providerId ? -1 : 1)),
    incidents: stored.incidents
      .map(({ reference }) => [reference, stored.resolved.get(reference) ?? 'open'])
      .sort(),
  };
}

// ----------------------------------------------------------------------------------------------------- payments by card

const cardCents = pixCents;
const canCards = { ...capabilities, cards: true };
const approval: CardApproval = {
  ...{ reference: 'pi_1', amountCents: cardCents, currency: 'BRL', installments: 1, at: start },
  ...{ brand: 'visa', last4: '4242', costCents: 30, releaseAt: start + 30, released: false },
  ...{ refunds: [], chargebacks: [] },
};
const cardCharge = { ...charge, card: { ...newCard(60), ref: 'cs_1', account: 'the account' } };

/** The acquirer's whole word about the page at one moment. */
const page =
  (more: Partial<CardApproval> | null, closed = true): News =>
  (memory) =>
    applyOutcome(
      memory.runtime(canCards, { transferWaitMs: 0 }),
      {
        ...place,
        kind: 'checkout',
        observation: {
          ...{ from: 'query', id: 'q', startedAt: memory.now },
          outcome: {
            outcome: 'found',
            report: {
              ...{ providerId: providerIdOf(paymentId), providerRef: 'cs_1', amountCents: cardCents },
              ...{ currency: 'BRL', page: closed ? 'closed' : 'open', url: null, expiresAt: null },
              ...{ attempt: null, approval: more && { ...approval, ...more } },
            },
          },
        },
      },
      Number.POSITIVE_INFINITY,
    );

const chargeback = (status: 'open' | 'rejected' | 'accepted', backCents = 0) => ({
  report: {
    ...{ providerId: 'du_1', endToEnd: 'pi_1', amountCents: 700, status, reason: null },
    ...{ openedAt: start, deadlineAt: null },
  },
  ...{ outCents: 700, backCents, costCents: 15, costBackCents: backCents > 0 ? 15 : 0 },
});
const elsewhere: CardRefund = {
  ...{ reference: 're_own', providerId: null, amountCents: 400, status: 'settled', at: start },
};
const news = (name: string, tell: News): Told => ({ name, tell });

/** Each in all orders, older words behind newer ones, and each word a second time at the end. */
const cardSets: { name: string; news: Told[] }[] = [
  {
    name: 'approval, end of the page, release moved and released',
    news: [
      news('open', page(null, false)),
      news('ended', page(null)),
      news('approved', page({})),
      news('moved', page({ releaseAt: start + 99 })),
      news('released', page({ releaseAt: start + 99, released: true })),
    ],
  },
  {
    name: 'a chargeback that is won behind the release',
    news: [
      news('approved', page({})),
      news('charged back', page({ chargebacks: [chargeback('open')] })),
      news('released', page({ released: true, chargebacks: [chargeback('open')] })),
      news('won', page({ released: true, chargebacks: [chargeback('rejected', 700)] })),
    ],
  },
  {
    name: 'a chargeback of a payment that was given back in part',
    news: [
      news('approved', page({})),
      news('given back', page({ refunds: [elsewhere] })),
      news('charged back', page({ refunds: [elsewhere], chargebacks: [chargeback('open')] })),
      news(
        'lost and released',
        page({ released: true, refunds: [elsewhere], chargebacks: [chargeback('accepted')] }),
      ),
    ],
  },
];

async function endOfCard(order: readonly Told[], last: Told) {
  const memory = new Memory({ ...nothingStored, payment: cardCharge }, columns, start + 20_000);
  // The acquirer's present word is always asked for in the end.
  for (const { tell } of [...order, last]) {
    memory.now += 1_000;
    await tell(memory);
  }
  const { stored } = memory;
  const { available, receivable, cardHeld } = memory.columns;
  const { card, status, notice } = stored.payment ?? {};
  return {
    ...{ owned: available - receivable, cardHeld, clearing: stored.clearing, suspense: stored.suspense },
    ...{
      status,
      notice,
      settlement: card?.settlement,
      costCents: card?.costCents,
      releaseAt: card?.releaseAt,
    },
    taken: Object.entries(card?.taken ?? {})
      .map(([name, { outCents, backCents }]) => [name, outCents, backCents])
      .sort(),
    disputes: stored.disputes.map(({ providerId, status: of, debitedCents }) => [
      providerId,
      of,
      debitedCents,
    ]),
    once: stored.movements.filter((one) => one === 'cardApprove' || one === 'cardRelease').sort(),
  };
}

describe('news of a payment by card has the same end in every order, however often each word comes', () => {
  it.each(cardSets)('$name', async ({ news: all }) => {
    const last = all.at(-1) as Told;
    const first = await endOfCard(all, last);
    expect(first.once).toEqual(['cardApprove', 'cardRelease']);
    for (const order of orders(all)) {
      const named = order.map(({ name }) => name).join(', ');
      expect(await endOfCard(order, last), named).toEqual(first);
      expect(await endOfCard([...order, ...order], last), `${named}, twice`).toEqual(first);
    }
  });
});

describe('news has the same end in every order', () => {
  it.each(sets)('$name', async ({ begins, news }) => {
    const all = orders(news);
    const first = await endOf(begins, all[0] ?? []);
    for (const order of all)
      expect(await endOf(begins, order), order.map(({ name }) => name).join(', ')).toEqual(first);
  });

  it('a debit is no person’s where an accepted dispute has its amount, and only then', async () => {
    const ofDebit = async (...all: Told[]): Promise<Set<string | undefined>> => {
      const found = await Promise.all(orders(all).map((order) => endOf(undefined, order)));
      return new Set(found.flatMap(({ incidents }) => incidents.map(([, state]) => state)));
    };
    const other: Told = { name: 'a debit of less', tell: report('E1', pixCents, back('a', 599)) };
    const again: Told = {
      name: 'a second debit of as much',
      tell: report('E1', pixCents, back('a', 600), back('b', 600)),
    };
    const ended = 'none by rule';
    expect(await ofDebit(paid, opened, ends('accepted'), taken)).toEqual(new Set([ended]));
    expect(await ofDebit(paid, opened, ends('accepted'), other)).toEqual(new Set(['open']));
    expect(await ofDebit(paid, opened, ends('rejected'), taken)).toEqual(new Set(['open']));
    expect(await ofDebit(paid, opened, taken)).toEqual(new Set(['open']));
    expect(await ofDebit(paid, opened, ends('accepted'), again)).toEqual(new Set([ended, 'open']));
    expect(await ofDebit(paid, opened, ends('accepted'), whole, late, taken)).toEqual(new Set([ended]));
  });

  it('disputes hold what is disputed of what is left in the end, and those that a person released nothing', async () => {
    expect((await endOf(undefined, [opened, whole, paid, taken])).ofDisputes).toBe(400);
    const released: News = async (memory) => {
      for (const one of [paid, opened, whole]) await one.tell(memory);
      await release(memory);
    };
    for (const order of orders([ends('accepted'), taken, held, late]))
      expect((await endOf(released, order)).ofDisputes, order.map(({ name }) => name).join(', ')).toBe(0);
  });
});
