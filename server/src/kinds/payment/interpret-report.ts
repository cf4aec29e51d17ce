import { isOfOtherTime, revisedBy } from '../../money/due.ts';
import type { Intent } from '../../money/intent.ts';
import type { EventKind } from '../../money/journal.ts';
import { isTerminal, type Payment } from '../../money/payment.ts';
import { identifyReturns, type KnownReturn, type ReturnedPix } from '../../money/returns.ts';
import { type Facts, next, type PaymentEvent, type Step } from '../../money/state.ts';
import type {
  Capabilities,
  ChargeReport,
  PayoutReport,
  PixReturn,
  ReceivedPix,
} from '../../provider/provider.ts';
import type { Observation as Seen } from '../kind.ts';
import {
  isSinceSent,
  type LastSent,
  type Reading as Read,
  readQuery,
  readSend,
  reported,
} from '../reading.ts';

/** Interprets an answer, a webhook or a query as events of the state machine of payments, by the rules of `reading.ts`. Pure. */
export type Observation = Seen<ChargeReport | PayoutReport, PaymentNews>;

/** An authenticated delivery, stored under `id`. */
export interface PaymentNews {
  from: 'webhook';
  id: string;
  received: ReceivedPix[];
  payouts: PayoutReport[];
}

export interface Reading extends Read<PaymentEvent> {
  /** Every return that it reports, with all names that are known now. */
  returns: KnownReturn[];
}

/** The part of a stored payment that the interpretation depends on. */
export interface OnRecord {
  payment: Payment;
  intent: Intent | undefined;
  /** The returns that are known of it. */
  returns: readonly KnownReturn[];
  /** The intent of its open change; absent: there is none. */
  changeSent?: LastSent | undefined;
}

/** An observation and its payment. */
export interface Interpretation {
  /** End-to-end ids of the Pix that it reports as received: whether one is in suspense is read under the lock. */
  received: readonly string[];
  /** Ids in the payment system of the returns of payouts that it reports: whether one is booked is read under the lock. */
  returned: readonly string[];
  /** It reports money that came back or was taken back. */
  hasReturns: boolean;
  /** It reports returns of received Pix, in whatever state: refunds of ours may be among them. */
  namesRefunds: boolean;
  /** @returns null when it says nothing of this payment */
  read(onRecord: OnRecord, capabilities: Capabilities): Reading | null;
}

export const interpret = (observation: Observation): Interpretation => ({
  received: receivedIn(observation).map(({ endToEnd }) => endToEnd),
  returned: payoutsIn(observation).flatMap((payout) =>
    settledReturns(payout).flatMap(({ rtrId }) => rtrId ?? []),
  ),
  hasReturns: hasReturns(observation),
  namesRefunds: receivedIn(observation).some(({ returns }) => returns.length > 0),
  read: (onRecord, capabilities) => readObservation(observation, onRecord, capabilities),
});

function readObservation(
  observation: Observation,
  onRecord: OnRecord,
  capabilities: Capabilities,
): Reading | null {
  const { payment, intent, changeSent } = onRecord;
  const { status } = payment;
  const standing = { intent, isOpen: !isTerminal(status), isPending: status === 'pending', capabilities };
  const read = createReader(onRecord, observation.from !== 'webhook' && isSinceSent(observation, changeSent));
  switch (observation.from) {
    case 'webhook': {
      const { received, payouts } = observation;
      const observed = [...received.flatMap(read.received), ...payouts.flatMap(read.payout)];
      return { ...reported(observed, standing), returns: read.returns() };
    }
    case 'query': {
      const { outcome, startedAt } = observation;
      const told = readQuery(observation, standing, (report) => read.report(report, startedAt));
      // A charge whose repeat was refused and that is then not found holds no money, and no payer has its code.
      const refusedForGood =
        outcome.outcome === 'notFound' &&
        payment.kind === 'deposit' &&
        status === 'unknown' &&
        intent?.refused === true;
      const events = refusedForGood
        ? [{ type: 'refused', reason: 'provider_refused' } as const]
        : told.events;
      return { ...told, events, returns: read.returns() };
    }
    case 'send': {
      const told = readSend(observation, standing, (report) => read.report(report, null));
      return told && { ...told, returns: read.returns() };
    }
  }
}

interface Reader {
  report(report: ChargeReport | PayoutReport, observedAt: number | null): PaymentEvent[];
  received(pix: ReceivedPix): PaymentEvent[];
  payout(report: PayoutReport): PaymentEvent[];
  /** Those of all reports so far. */
  returns(): KnownReturn[];
}

/** Reads reports of one payment, one after the other: what one report names of a return is known when the next is read. */
function createReader({ payment, intent, returns }: OnRecord, isSince: boolean): Reader {
  let known: readonly KnownReturn[] = returns;
  const told = new Map<string, KnownReturn>();
  const identify = (pix: ReturnedPix, report: { returns: readonly PixReturn[] }): KnownReturn[] => {
    const found = identifyReturns(pix, settledReturns(report), known);
    for (const one of found) told.set(one.reference, one);
    known = [...known.filter(({ reference }) => !told.has(reference)), ...told.values()];
    return found;
  };
  const read: Reader = {
    report: (report, observedAt) => eventsOfReport(report, payment, { observedAt, isSince }, read),
    received: (pix) =>
      eventsOfReceived(pix, payment, identify({ pix: pix.endToEnd, name: pix.endToEnd }, pix)),
    payout: (report) => {
      if (report.status === 'refused' && isOther(report, intent)) return [];
      const name = report.endToEnd ?? payment.endToEnd ?? report.providerId;
      return eventsOfPayout(report, identify({ pix: '', name }, report));
    },
    returns: () => [...told.values()],
  };
  return read;
}

/**
 * Where a repeat makes another payout at the provider, one of them is the payment: the first that answered, or the one that was approved. That another one
 * was refused says nothing of it.
 */
const isOther = ({ providerRef }: PayoutReport, intent: Intent | undefined): boolean =>
  providerRef !== undefined && intent?.providerRef != null && intent.providerRef !== providerRef;

function eventsOfReport(
  report: ChargeReport | PayoutReport,
  asked: Payment,
  { observedAt, isSince }: { observedAt: number | null; isSince: boolean },
  read: Reader,
): PaymentEvent[] {
  if ('providerId' in report) return read.payout(report);
  const { amountCents, expiresAt, copyPaste, due } = report;
  const open: PaymentEvent = { type: 'chargeOpen', amountCents, expiresAt, copyPaste, observedAt };
  const revised = asked.due && revisedBy({ ...asked, due: asked.due }, { ...report, isSince });
  const isOther = !revised && isOfOtherTime(asked, report);
  // A charge of another amount than ours is not ours: what it says to have received is not believed either.
  if (!revised && !isOther && amountCents !== asked.amountCents) return [open];
  const change: PaymentEvent[] = revised
    ? [{ type: 'chargeRevised', amountCents, isSince, ...(due && { due }) }]
    : [];
  const told = [...change, ...report.received.flatMap(read.received)];
  // As it was before a change: its deadline is over as well.
  if (report.status === 'open') return isOther ? told : [...told, open];
  return report.status === 'removed' ? [...told, { type: 'chargeRemoved' }] : told;
}

function eventsOfReceived(
  { endToEnd, amountCents, paidAt, parts }: ReceivedPix,
  { createdAt }: Pick<Payment, 'createdAt'>,
  returns: readonly KnownReturn[],
): PaymentEvent[] {
  return [
    {
      ...{ type: 'chargePaid', endToEnd, amountCents, paidAt: notBefore(createdAt, paidAt) },
      ...(parts && { parts }),
    },
    ...returns.map((back): PaymentEvent => ({ type: 'debited', back, endToEnd })),
  ];
}

const clockSkewMs = 10 * 60_000;
const brasiliaMs = 3 * 3_600_000;

/**
 * No charge is paid before it is made. A delivery and a list name a Pix without the creation of its charge, so a bank that labels local time
 * as UTC shows here alone: what lies before the charge is three hours later, and the charge's creation where that is still too early.
 */
function notBefore(createdAt: number, paidAt: number): number {
  const isOtherZone = createdAt - paidAt > clockSkewMs;
  return Math.max(createdAt, isOtherZone ? paidAt + brasiliaMs : paidAt);
}

/** Only what is settled moved money. */
export const settledReturns = ({ returns }: { returns: readonly PixReturn[] }): PixReturn[] =>
  returns.filter((one) => one.status === 'settled');

function eventsOfPayout(report: PayoutReport, returns: readonly KnownReturn[]): PaymentEvent[] {
  const { amountCents, pixKey, endToEnd, settledAt } = report;
  switch (report.status) {
    case 'prepared':
    case 'pending':
      return [{ type: 'payoutPending', amountCents, pixKey, endToEnd }];
    case 'refused':
      return [
        { type: 'refused', reason: report.reason ?? 'provider_refused', reported: { amountCents, pixKey } },
      ];
    case 'completed':
      return [
        { type: 'payoutCompleted', amountCents, pixKey, endToEnd, settledAt },
        ...returns.map(
          (back): PaymentEvent => ({ type: 'payoutReturned', back, sentCents: amountCents, pixKey }),
        ),
      ];
  }
}

function receivedIn(observation: Observation): ReceivedPix[] {
  if (observation.from === 'webhook') return observation.received;
  if (!('report' in observation.outcome)) return [];
  const { report } = observation.outcome;
  return 'providerId' in report ? [] : report.received;
}

function hasReturns(observation: Observation): boolean {
  return [...receivedIn(observation), ...payoutsIn(observation)].some(
    (one) => settledReturns(one).length > 0,
  );
}

export function payoutsIn(observation: Observation): PayoutReport[] {
  if (observation.from === 'webhook') return observation.payouts;
  const { outcome } = observation;
  return 'report' in outcome && 'providerId' in outcome.report ? [outcome.report] : [];
}

/** Applies each event to the state that the event before it left: what one posts or opens, the next ones find posted and open. */
export function runEvents(payment: Payment, observed: readonly PaymentEvent[], facts: Facts): Step[] {
  const booked = new Set<string>();
  const posted = (event: EventKind, reference: string) =>
    booked.has(`${event}/${reference}`) || facts.posted(event, reference);
  const returned = new Set<string>();
  const knowsReturn = (reference: string) => returned.has(reference) || facts.knowsReturn(reference);
  const steps: Step[] = [];
  let opened = false;
  const incidentOpen = () => opened || facts.incidentOpen();
  for (const event of observed) {
    const state = steps.at(-1)?.payment ?? payment;
    const step = next(state, event, { ...facts, posted, knowsReturn, incidentOpen });
    if (!step) continue;
    for (const { reference } of step.returns) returned.add(reference);
    opened ||= step.incidents.length > 0;
    for (const posting of step.postings) booked.add(`${posting.event}/${posting.reference}`);
    steps.push(step);
  }
  return steps;
}
