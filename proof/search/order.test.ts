import { capabilities } from '@vintem/testkit/capabilities.ts';
import { describe, expect, it } from 'vitest';
import { applyOutcome } from '../../server/src/flow/apply.ts';
import { buildDisputeReport } from '../../server/src/flow/report-command.ts';
import { observedRefund } from '../../server/src/kinds/payment/refund-lines.ts';
import { newPayment, providerIdOf } from '../../server/src/money/payment.ts';
import { newRefund } from '../../server/src/money/refund.ts';
import { buildHold, buildHoldRelease } from '../../server/src/operate/accounts/holds.ts';
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

const sets: { name: string; begins?: News; news: Told[] }[] = [
  { name: 'an accepted dispute', news: [paid, opened, ends('accepted'), taken, held] },
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
    incidents: stored.incidents.map(({ reference }) => reference).sort(),
  };
}

describe('news has the same end in every order', () => {
  it.each(sets)('$name', async ({ begins, news }) => {
    const all = orders(news);
    const first = await endOf(begins, all[0] ?? []);
    for (const order of all)
      expect(await endOf(begins, order), order.map(({ name }) => name).join(', ')).toEqual(first);
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
