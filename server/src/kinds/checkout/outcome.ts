import { type CardEvent, type CardStep, isHeld, nextCheckout } from '../../money/card.ts';
import type { Cause, Payment } from '../../money/payment.ts';
import { isTerminal } from '../../money/payment.ts';
import type { CheckoutReport } from '../../provider/cards.ts';
import type { View } from '../../store/till.ts';
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
      const { row: payment, ids, capabilities, subscribed } = stored;
      const facts = { now, cause: causeOf(observation), operationDeleted: isDeleted(view, chain) };
      const steps = stepsOf(payment, reading.events, facts);
      let from = payment.status;
      const writes = steps.flatMap((step) => {
        const news = announce(ids, capabilities.movesMoney, step.payment, from, step.events, subscribed);
        from = step.payment.status;
        return news;
      });
      const heard: Heard<Payment> = {
        row: steps.at(-1)?.payment ?? payment,
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
