import { isHeld, type Refused } from '../../money/card.ts';
import { type CardEvent, type CardStep, isLineOf, nextCheckout } from '../../money/checkout.ts';
import { type Intent, nextQueryAt, priorityOf } from '../../money/intent.ts';
import { type Cause, isTerminal, type Payment, providerIdOf } from '../../money/payment.ts';
import { isRefundOpen, type Refund } from '../../money/refund.ts';
import type { CardRefund, CheckoutReport } from '../../provider/cards.ts';
import { unknownIdentity } from '../../provider/identity.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { refundsOfPayment } from '../../store/rows/refunds.sql.ts';
import { put, read, type View } from '../../store/till.ts';
import type { Answered, Heard, Hearing, Observed, OnRecord } from '../kind.ts';
import { linkWrites } from '../link/link.ts';
import { announce } from '../payment/payment-events.ts';
import { observedRefund } from '../payment/refund-lines.ts';
import { type Reading, readQuery, readSend } from '../reading.ts';
import { chargebackReads, chargebackWrites } from './chargebacks.ts';

/** It has not ended at its acquirer, or was not released. */
export const isCheckoutOpen = (payment: Payment): boolean => !isTerminal(payment.status) || isHeld(payment);

type Asked = Answered<CheckoutReport>;

/** A refused attempt, by the word of a delivery alone (`provider/cards.ts`). */
export type RefusedNews = { from: 'webhook'; id: string } & Refused;

type Seen = Asked | RefusedNews;

/** Turns an answer, a query or a delivery about a card checkout into events of its state machine. Pure. */
export function hearCheckout(observed: Observed<Seen>): Hearing<Payment> {
  const { accountId, paymentId, operationId, connection, observation } = observed;
  const chain = { accountId, chainId: operationId };
  const place = { accountId, paymentId, operationId, connection };
  const report = reportIn(observation);
  const key = paymentKey(accountId, paymentId);
  const lines = report?.approval?.refunds ?? [];
  return {
    chains: [chain],
    reads: [...(lines.length > 0 ? [read(refundsOfPayment, key)] : []), ...chargebackReads(report, place)],
    eventRefs: [],
    pix: [],
    decide(view, stored, now) {
      const reading = readingOf(observation, stored);
      if (reading === null) return null;
      const { row: payment, intent, ids, capabilities, subscribed } = stored;
      const account = intent?.identity ?? null;
      const cause = causeOf(observation);
      const operationDeleted = isDeleted(view, chain);
      const refunds = lines.length > 0 ? (view.get(refundsOfPayment, key)?.refunds ?? []) : [];
      const refundNamed = (name: string) => refunds.find(({ id }) => providerIdOf(id) === name);
      const facts = { now, cause, operationDeleted, account, refundNamed };
      const steps = stepsOf(payment, reading.events, facts);
      let from = payment.status;
      const writes = steps.flatMap((step) => {
        const news = announce(ids, capabilities.movesMoney, step.payment, from, step.events, subscribed);
        from = step.payment.status;
        return news;
      });
      const last = steps.at(-1)?.payment ?? payment;
      const options = { ids, livemode: capabilities.movesMoney, silent: operationDeleted, now };
      const chargebacks = chargebackWrites(view, place, report, last, options);
      writes.push(...chargebacks);
      const row = chargebacks.length > 0 && !last.disputed ? { ...last, disputed: true } : last;
      // It had expired, and is to be followed again until it is released.
      if (intent === undefined && isHeld(row) && !isHeld(payment))
        writes.push(put(intents, followed(row, connection, stored.ids.token, now)));
      writes.push(...stored.requestsEndedWith(view, payment, row, options, now));
      writes.push(...linkWrites(view, payment, row, options));
      const heard: Heard<Payment> = {
        row,
        ending: reading.ending,
        undecided: reading.undecided,
        providerRef: refIn(observation),
        incidents: steps.flatMap((step) => step.incidents),
        postings: steps.flatMap(({ postings }) =>
          postings.map((posting) => ({
            ...{ ...posting, subject: paymentId, connection },
            chain: posting.movement.kind === 'bookToSuspense' ? accountChain(view, accountId) : chain,
          })),
        ),
        writes,
        others: refundsTold(lines, refunds, row, { connection, cause }),
        unclear: [],
      };
      return heard;
    },
  };
}

function followed(row: Payment, connection: string, fence: string, now: number): Intent {
  const { accountId, id: paymentId, operationId, card, createdAt, status, expiresAt } = row;
  const { ref = null, account = null, releaseAt = null } = card ?? {};
  const held = { kind: 'checkout', status, expiresAt, releaseAt } as const;
  return {
    ...{ accountId, paymentId, operationId, connection, kind: 'checkout', fence, createdAt },
    ...{ priority: priorityOf('checkout', status), state: 'awaiting', attempt: 1, leaseUntil: null },
    ...{ dueAt: nextQueryAt(held, now, now, 0), newsAt: now, attemptEndedAt: now, failures: 0 },
    ...{ absences: 0, absentAt: null, undecidedSince: null, answeredAt: null, known: true, refused: false },
    ...{ step: null, providerRef: ref, identity: account ?? unknownIdentity },
  };
}

/** The account's own chain: what a deleted operation would have lost or got stands there in suspense. The till locks it when it is asked for. */
function accountChain(view: View, accountId: string) {
  const chain = { accountId, chainId: accountId };
  view.balance(chain);
  return chain;
}

/** Refunds that were asked for here, as the acquirer reports them with their payment: its word goes to each that it may change. */
const refundsTold = (
  lines: readonly CardRefund[],
  refunds: readonly Refund[],
  { card }: Payment,
  { connection, cause }: { connection: string; cause: Cause },
): Observed[] =>
  lines.flatMap(({ providerId: id, reference: rtrId, amountCents, status, at }) => {
    const refund = refunds.find((one) => providerIdOf(one.id) === id && one.endToEnd === card?.approval);
    if (
      refund === undefined ||
      !isLineOf(refund, rtrId) ||
      (!isRefundOpen(refund) && refund.status === endOf[status])
    )
      return [];
    return observedRefund(refund, connection, {
      ...{ from: 'charge', cause },
      line: { id, rtrId, amountCents, status, at },
    });
  });

const endOf = { pending: 'pending', settled: 'completed', failed: 'failed' } as const;

const reportIn = (seen: Seen): CheckoutReport | null =>
  seen.from !== 'webhook' && 'report' in seen.outcome ? seen.outcome.report : null;

const isDeleted = (view: View, chain: { accountId: string; chainId: string }): boolean =>
  view.balance(chain)?.deletedAt !== null;

function stepsOf(
  payment: Payment,
  events: readonly CardEvent[],
  facts: Parameters<typeof nextCheckout>[2],
): CardStep[] {
  const steps: CardStep[] = [];
  for (const event of events) {
    const step = nextCheckout(steps.at(-1)?.payment ?? payment, event, facts);
    if (step) steps.push(step);
  }
  return steps;
}

function readingOf(
  observation: Seen,
  { row, intent, capabilities }: OnRecord<Payment>,
): Reading<CardEvent> | null {
  const { status } = row;
  if (observation.from === 'webhook') {
    const { page, attempt } = observation;
    return { events: [{ type: 'attemptRefused', page, attempt }], ending: null, undecided: false };
  }
  const standing = { intent, isOpen: !isTerminal(status), isPending: status === 'pending', capabilities };
  const eventsOf = (report: CheckoutReport): CardEvent[] => [{ type: 'reported', report }];
  if (observation.from === 'send')
    return readSend<CheckoutReport, CardEvent>(observation, standing, eventsOf);
  const read = readQuery<CheckoutReport, CardEvent>(observation, standing, eventsOf);
  // A page whose repeat was refused and that is then not found: what is paid on one that a restore lost goes to a person (`flow/inbound-news.ts`).
  const isRefused =
    observation.outcome.outcome === 'notFound' && status === 'unknown' && intent?.refused === true;
  return isRefused ? { ...read, events: [{ type: 'refused', reason: 'provider_refused' }] } : read;
}

const causeOf = (observation: Seen): Cause =>
  observation.from === 'send'
    ? { by: 'answer', id: observation.fence }
    : { by: observation.from, id: observation.id };

function refIn(seen: Seen): string | null {
  if (seen.from === 'webhook') return null;
  const { outcome } = seen;
  return outcome.outcome === 'accepted' || outcome.outcome === 'found' ? outcome.report.providerRef : null;
}
