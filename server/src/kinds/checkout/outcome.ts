import { isHeld } from '../../money/card.ts';
import { type CardEvent, type CardStep, nextCheckout } from '../../money/checkout.ts';
import { type Intent, nextQueryAt, priorityOf } from '../../money/intent.ts';
import { type Cause, isTerminal, type Payment } from '../../money/payment.ts';
import type { CheckoutReport } from '../../provider/cards.ts';
import { unknownIdentity } from '../../provider/identity.ts';
import { intents } from '../../store/rows/intents.sql.ts';
import { put, type View } from '../../store/till.ts';
import { cancelEndedWith } from '../cancel/end.ts';
import type { Answered, Heard, Hearing, Observed, OnRecord } from '../kind.ts';
import { announce } from '../payment/payment-events.ts';
import { type Reading, readQuery, readSend } from '../reading.ts';

/** It has not ended at its acquirer, or was not released. */
export const isCheckoutOpen = (payment: Payment): boolean => !isTerminal(payment.status) || isHeld(payment);

type Seen = Answered<CheckoutReport>;

/** Turns an answer or a query about a card checkout into events of its state machine. Pure. */
export function hearCheckout(observed: Observed<Seen>): Hearing<Payment> {
  const { accountId, paymentId, operationId, connection, observation } = observed;
  const chain = { accountId, chainId: operationId };
  return {
    chains: [chain],
    reads: [],
    eventRefs: [],
    pix: [],
    decide(view, stored, now) {
      const reading = readingOf(observation, stored);
      if (reading === null) return null;
      const { row: payment, intent, ids, capabilities, subscribed } = stored;
      const account = intent?.identity ?? null;
      const cause = causeOf(observation);
      const facts = { now, cause, operationDeleted: isDeleted(view, chain), account };
      const steps = stepsOf(payment, reading.events, facts);
      let from = payment.status;
      const writes = steps.flatMap((step) => {
        const news = announce(ids, capabilities.movesMoney, step.payment, from, step.events, subscribed);
        from = step.payment.status;
        return news;
      });
      const row = steps.at(-1)?.payment ?? payment;
      // It had expired, and is to be followed again until it is released.
      if (intent === undefined && isHeld(row) && !isHeld(payment))
        writes.push(put(intents, followed(row, connection, stored.token, now)));
      writes.push(...cancelEndedWith(view, payment, row));
      const heard: Heard<Payment> = {
        row,
        ending: reading.ending,
        undecided: reading.undecided,
        providerRef: refIn(observation),
        incidents: steps.flatMap((step) => step.incidents),
        postings: steps.flatMap(({ postings }) =>
          postings.map((posting) => ({ ...posting, chain, subject: paymentId, connection })),
        ),
        writes,
        others: [],
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
    ...{ providerRef: ref, identity: account ?? unknownIdentity },
  };
}

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
  const standing = { intent, isOpen: !isTerminal(status), isPending: status === 'pending', capabilities };
  const eventsOf = (report: CheckoutReport): CardEvent[] => [{ type: 'reported', report }];
  if (observation.from === 'send')
    return readSend<CheckoutReport, CardEvent>(observation, standing, eventsOf);
  const read = readQuery<CheckoutReport, CardEvent>(observation, standing, eventsOf);
  // A page whose repeat was refused and that is then not found was never made: no payer has its address.
  const isRefused =
    observation.outcome.outcome === 'notFound' && status === 'unknown' && intent?.refused === true;
  return isRefused ? { ...read, events: [{ type: 'refused', reason: 'provider_refused' }] } : read;
}

const causeOf = (observation: Seen): Cause =>
  observation.from === 'send' ? { by: 'answer', id: observation.fence } : { by: 'query', id: observation.id };

function refIn({ outcome }: Seen): string | null {
  return outcome.outcome === 'accepted' || outcome.outcome === 'found' ? outcome.report.providerRef : null;
}
