import { type EventKind, eventKinds } from '../ledger/journal.ts';
import { isTerminal, type Payment } from '../payments/payment.ts';
import { type Facts, next, type PaymentEvent, type Step } from '../payments/state.ts';
import type {
  Capabilities,
  ChargeReport,
  PayoutReport,
  PixReturn,
  QueryOutcome,
  ReceivedPix,
  SendOutcome,
} from '../provider/provider.ts';
import { type Ending, type Intent, undecidedAfterMs } from './intent.ts';

/**
 * What an answer, a webhook or a query says, as events of the state machine. Pure: the service, the search of all states and
 * the tests read with the same functions.
 *
 * **Who may call an answer a terminal refusal** is decided here. A refusal in the answer to a send counts only when that send
 * was the only attempt ever started: after an unclear or repeated attempt an earlier request may still be on its way, and only a refusal
 * that the provider reports *for that id* (by query or authenticated webhook) releases, where the adapter declares such a
 * refusal final. "Not found" never does.
 */
export type Observation =
  | { from: 'send'; fence: string; outcome: SendOutcome<ChargeReport | PayoutReport> }
  | { from: 'query'; id: string; startedAt: number; outcome: QueryOutcome<ChargeReport | PayoutReport> }
  /** An authenticated delivery, stored under `id`. */
  | { from: 'webhook'; id: string; received: ReceivedPix[]; payouts: PayoutReport[] };

export interface Reading {
  events: PaymentEvent[];
  /** What it means for the intent; null when the intent stays as it is. */
  ending: Ending | null;
  /** A day of only refused repeats and absences. */
  undecided: boolean;
}

/** What an observation says; null when it says nothing. */
export function readObservation(
  observation: Observation,
  payment: Payment,
  intent: Intent | undefined,
  capabilities: Capabilities,
  now: number,
): Reading | null {
  switch (observation.from) {
    case 'webhook':
      return reported(
        [...observation.received.flatMap(eventsOfReceived), ...observation.payouts.flatMap(eventsOfPayout)],
        payment,
        intent,
        capabilities,
      );
    case 'query': {
      const { outcome, startedAt } = observation;
      if (outcome.outcome === 'found') {
        return reported(eventsOfReport(outcome.report, payment, startedAt), payment, intent, capabilities);
      }
      if (outcome.outcome === 'unclear') {
        return {
          events: [],
          ending: { type: 'queryFailed', retryAfterMs: outcome.retryAfterMs },
          undecided: false,
        };
      }
      // A charge whose repeat was refused and that is then not found holds no money, and nobody has its code.
      const refusedForGood =
        payment.kind === 'deposit' && payment.status === 'unknown' && intent?.refused === true;
      return {
        events: refusedForGood ? [{ type: 'refused', reason: 'provider_refused' }] : [],
        ending: { type: 'notFound', startedAt, repeatIsSafe: capabilities.repeatIsSafe },
        // Where it cannot be sent again, absence alone is all that will ever be heard.
        undecided:
          payment.kind === 'transfer' &&
          !isTerminal(payment.status) &&
          (intent?.refused === true || !capabilities.repeatIsSafe) &&
          intent !== undefined &&
          intent.absentSince !== null &&
          now - intent.absentSince > undecidedAfterMs,
      };
    }
    case 'send': {
      const { outcome } = observation;
      if (intent?.state !== 'sending' || intent.fence !== observation.fence) {
        // The fence guards the intent, not the provider's word: "completed" after a release must not be swallowed. What an owner that
        // was overtaken may not do is end or judge an attempt.
        return outcome.outcome === 'accepted'
          ? reported(eventsOfReport(outcome.report, payment, null), payment, intent, capabilities)
          : null;
      }
      switch (outcome.outcome) {
        case 'accepted':
          return {
            events: eventsOfReport(outcome.report, payment, null),
            ending: { type: 'answered' },
            undecided: false,
          };
        case 'refused':
          return intent.attempt === 1
            ? { events: [{ type: 'refused', reason: outcome.reason }], ending: null, undecided: false }
            : { events: [], ending: { type: 'refused' }, undecided: false };
        case 'duplicate':
          return { events: [], ending: { type: 'duplicate' }, undecided: false };
        case 'unclear':
          return {
            events: [],
            ending: { type: 'unclear', cause: outcome.cause, retryAfterMs: outcome.retryAfterMs },
            undecided: false,
          };
        case 'notSent':
          return { events: [], ending: { type: 'notSent' }, undecided: false };
      }
    }
  }
}

/**
 * What the provider reports for the id. Where the adapter cannot say that a refusal is final for an id, one after an unclear or
 * repeated attempt releases nothing: a person decides.
 */
function reported(
  observed: PaymentEvent[],
  payment: Payment,
  intent: Intent | undefined,
  capabilities: Capabilities,
): Reading {
  const refusalCounts =
    capabilities.refusalIsFinal || (intent?.attempt === 1 && payment.status === 'pending');
  const believed = refusalCounts ? observed : observed.filter((event) => event.type !== 'refused');
  return {
    events: believed,
    ending: { type: 'news' },
    undecided: believed.length < observed.length && !isTerminal(payment.status),
  };
}

function eventsOfReport(
  report: ChargeReport | PayoutReport,
  asked: Payment,
  observedAt: number | null,
): PaymentEvent[] {
  if ('providerId' in report) return eventsOfPayout(report);
  const { amountCents, expiresAt, copyPaste } = report;
  const open: PaymentEvent = { type: 'chargeOpen', amountCents, expiresAt, copyPaste, observedAt };
  // A charge of another amount than ours is not ours: what it says to have received is not believed either.
  if (amountCents !== asked.amountCents) return [open];
  const paid = report.received.flatMap(eventsOfReceived);
  if (report.status === 'open') return [...paid, open];
  return report.status === 'removed' ? [...paid, { type: 'chargeRemoved' }] : paid;
}

function eventsOfReceived(received: ReceivedPix): PaymentEvent[] {
  const { endToEnd, amountCents, paidAt } = received;
  return [
    { type: 'chargePaid', endToEnd, amountCents, paidAt },
    ...settledReturns(received).map((one): PaymentEvent => {
      return { type: 'debited', returnId: one.id, endToEnd, amountCents: one.amountCents, at: one.at };
    }),
  ];
}

/** Only what is settled moved money. */
export const settledReturns = ({ returns }: { returns: readonly PixReturn[] }): PixReturn[] =>
  returns.filter((one) => one.status === 'settled');

function eventsOfPayout(report: PayoutReport): PaymentEvent[] {
  const { amountCents, pixKey, endToEnd, settledAt } = report;
  switch (report.status) {
    case 'pending':
      return [{ type: 'payoutPending', amountCents, pixKey, endToEnd }];
    case 'refused':
      return [
        { type: 'refused', reason: report.reason ?? 'provider_refused', reported: { amountCents, pixKey } },
      ];
    case 'completed':
      return [
        { type: 'payoutCompleted', amountCents, pixKey, endToEnd, settledAt },
        ...settledReturns(report).map((one): PaymentEvent => {
          const back = { returnId: one.id, amountCents: one.amountCents, at: one.at };
          return { type: 'payoutReturned', ...back, sentCents: amountCents, pixKey };
        }),
      ];
  }
}

/** The provider ids of money that may come several times: whether they are in the journal is read under the lock. */
export function referencesOf(observation: Observation): { event: EventKind; reference: string }[] {
  const received: ReceivedPix[] = [];
  const payouts: PayoutReport[] = [];
  if (observation.from === 'webhook') {
    received.push(...observation.received);
    payouts.push(...observation.payouts);
  } else if ('report' in observation.outcome) {
    const { report } = observation.outcome;
    if ('providerId' in report) payouts.push(report);
    else received.push(...report.received);
  }
  const refs: { event: EventKind; reference: string }[] = [];
  for (const pix of received) {
    refs.push({ event: eventKinds.suspense, reference: pix.endToEnd });
    for (const { id: reference } of pix.returns) {
      refs.push({ event: eventKinds.debit, reference }, { event: eventKinds.suspense, reference });
    }
  }
  for (const payout of payouts) {
    for (const { id: reference } of payout.returns) {
      refs.push({ event: eventKinds.return, reference }, { event: eventKinds.suspense, reference });
    }
  }
  return refs;
}

/** Every event on the state that the one before it left: what one books or opens, the next ones find booked and open. */
export function runEvents(payment: Payment, observed: readonly PaymentEvent[], facts: Facts): Step[] {
  const booked = new Set<string>();
  const posted = (event: EventKind, reference: string) =>
    booked.has(`${event}/${reference}`) || facts.posted(event, reference);
  const steps: Step[] = [];
  let { incidentOpen } = facts;
  for (const event of observed) {
    const step = next(steps.at(-1)?.payment ?? payment, event, { ...facts, posted, incidentOpen });
    if (!step) continue;
    incidentOpen ||= step.incidents.length > 0;
    for (const posting of step.postings) booked.add(`${posting.event}/${posting.reference}`);
    steps.push(step);
  }
  return steps;
}
