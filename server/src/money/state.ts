import type { PaidParts, ShownTerms } from '../provider/due-terms.ts';
import type { Movement } from './decide.ts';
import { feeOfReceived, isPaymentOf, paidDue, partsFit, revisedBy, revisedByPix, sameParts } from './due.ts';
import { type EventKind, eventKinds } from './journal.ts';
import type { Cause, Notice, Payment, PaymentReason, PaymentStatus } from './payment.ts';
import type { KnownReturn } from './returns.ts';

/**
 * THE state machine of payments.
 *
 * A payment is committed as `unknown` before the provider learns of it, and from then on only the provider's word moves it.
 * The word comes three ways (the answer to a send, a webhook, a query) and means the same on each.
 *
 * **A charge** (`deposit`) waits `unknown` until the provider says that it stands, then `pending` until a payer pays.
 * The exact amount, or with a due date what its terms can lead to (`due.ts`), makes it `paid` and credits the operation, from `unknown` and from `expired` as well: the provider,
 * not our clock, decides, and the money is real. It is `expired` when a query made a minute after the deadline *in the
 * provider's own answer* shows it open and unpaid, and `failed` when the provider refused to create it or removed it. A merchant's wish to
 * cancel it changes no state: it is the reason of the removal that the provider then reports, and a payment that was quicker makes it `paid`. A wish to change
 * a due-date charge changes nothing either, until the provider shows the charge so.
 *
 * **A transfer** holds a reserve of its gross from the moment it exists. `pending` says that the provider has it,
 * `completed` that the receiver has the net and we have the fee. A terminal refusal makes it `cancelled` and gives the
 * whole reserve back. Who may call an answer a terminal refusal is decided in `kinds/reading.ts`: a refusal
 * that answers a repeat is not one, and "not found" never is. A completed transfer may come back later, in parts; its
 * state stays, the money returns, the fee does not.
 *
 * **A draft** is a transfer that a person asked for and has not confirmed. It reserves nothing and the provider knows nothing of
 * it. `confirmed` (the right code) sets the gross aside and makes it `unknown`, a transfer like any other from then on;
 * `draftEnded` (cancelled, too old, too many wrong codes) makes it `cancelled`, and no money moves.
 *
 * **Every state that is entered has its event, once.** Leaving `unknown` by the provider's word emits `charge.created` or
 * `transfer.created` first, whatever the state: a subscriber gets one for every payment that the provider has seen, also for one whose first
 * news is that it is over. Both events then carry the same snapshot. What our own rules refuse before anything is sent has no such event.
 *
 * **Money that arrives oddly is always posted**, never lost and never guessed. What belongs to a deleted operation, what is
 * not the asked amount, what comes a second time and what comes for a failed charge goes to suspense with an incident. A
 * report with another amount or key than ours, and a word that contradicts a terminal state, post nothing: they open an
 * incident and freeze the operation's withdrawals until a person has looked.
 *
 * Everything here is a function of its arguments. The same event twice changes nothing the second time: terminal states
 * say so for themselves, and for money that may come several times `facts.posted` and `facts.knowsReturn` say what is on record.
 */
export type PaymentEvent =
  /** The charge stands at the provider, unpaid. `observedAt`: when the query that showed it was begun; null otherwise. */
  | {
      type: 'chargeOpen';
      amountCents: number;
      expiresAt: number | null;
      copyPaste: string | null;
      observedAt: number | null;
    }
  /** `parts`: of a due-date charge, where the provider reports them. */
  | { type: 'chargePaid'; endToEnd: string; amountCents: number; paidAt: number; parts?: PaidParts }
  | { type: 'chargeRemoved' }
  /** The provider shows a due-date charge as it was asked to change it. */
  | { type: 'chargeRevised'; amountCents: number; due?: ShownTerms; isSince: boolean }
  | { type: 'payoutPending'; amountCents: number; pixKey: string | null; endToEnd: string | null }
  | {
      type: 'payoutCompleted';
      amountCents: number;
      pixKey: string | null;
      endToEnd: string | null;
      settledAt: number | null;
    }
  /** `sentCents` and `pixKey`: what the same report says was sent. */
  | {
      type: 'payoutReturned';
      back: KnownReturn;
      sentCents: number;
      pixKey: string | null;
    }
  /** The person who asked for a draft gave its code. */
  | { type: 'confirmed' }
  /** A draft is not wanted, or not any more. */
  | { type: 'draftEnded'; reason: 'draft_cancelled' | 'draft_expired' | 'draft_locked' }
  /** A terminal refusal: of a charge's creation or of a payout. */
  | {
      type: 'refused';
      reason: PaymentReason;
      /** The sent amount in the same report; absent where there is no report, as in the answer to a send. */
      reported?: { amountCents: number; pixKey: string | null };
    }
  /** The provider took money that it had paid before (MED, reversal of a received Pix). */
  | { type: 'debited'; back: KnownReturn; endToEnd: string };

export interface Facts {
  now: number;
  cause: Cause;
  /** The operation that owns it was deleted. */
  operationDeleted: boolean;
  /** Whether an incident about this payment is open. */
  incidentOpen(): boolean;
  /** Whether an event of this payment is in the journal. */
  posted(event: EventKind, reference: string): boolean;
  /** The other payment under which a received Pix, or a return of a payout, of this connection is booked; null: there is none. */
  bookedUnder(endToEnd: string): string | null;
  /** Whether the return with this reference was posted or opened an incident. */
  knowsReturn(reference: string): boolean;
  /** Whether a person has credited the Pix out of suspense to the operation, and a dispute keeps it there. */
  isCreditedAndDisputed(endToEnd: string): boolean;
  /** Whether the key that the provider reports is the one that was asked for; null: ours cannot be opened at the moment. */
  isPixKey(reported: string): boolean | null;
}

/** The facts of an event that the service or a person decides: the provider reported nothing that has to be compared. */
export const factsOfDecision = (now: number, cause: Cause): Facts => ({
  now,
  cause,
  operationDeleted: false,
  incidentOpen: () => false,
  posted: () => false,
  bookedUnder: () => null,
  knowsReturn: () => false,
  isCreditedAndDisputed: () => false,
  isPixKey: () => true,
});

export interface Step {
  payment: Payment;
  /** `bookToSuspense` goes to the account's own chain, everything else to the operation's. */
  postings: {
    event: EventKind;
    reference: string;
    movement: Movement;
    effectiveAt: number;
    /** The received Pix, or the return of a payout, that it books. */
    pix?: string;
  }[];
  events: PaymentEventType[];
  incidents: OpenedIncident[];
  /** Returns that are known from now on. */
  returns: KnownReturn[];
}

export interface OpenedIncident {
  kind: IncidentKind;
  reference: string;
  amountCents: number;
  freezes: boolean;
  /** Further facts for a person. */
  detail?: object;
  /** No person is needed: an accepted dispute explains it. */
  explained?: true;
}

export type PaymentEventType =
  | 'charge.created'
  | 'charge.paid'
  | 'charge.expired'
  | 'charge.failed'
  | 'charge.unexpected_payment'
  | 'charge.card_refused'
  | 'charge.card_available'
  | 'transfer.created'
  | 'transfer.completed'
  | 'transfer.cancelled'
  | 'transfer.returned';

export type IncidentKind =
  /** Anything for a deleted operation. */
  | 'deleted_operation'
  /** A charge was paid with another amount. */
  | 'amount_mismatch'
  /** A paid charge was paid again. */
  | 'second_payment'
  /** A failed charge was paid. */
  | 'failed_charge_paid'
  /** The provider reports our id with another amount or key, or with a Pix that another payment has. */
  | 'report_mismatch'
  /** A list, a statement or a report names a movement that the books have, with another amount. */
  | 'movement_mismatch'
  /** The provider contradicts a terminal state. */
  | 'contradiction'
  /** More came back than was sent. */
  | 'return_exceeds'
  /** The provider took money back. */
  | 'debit'
  /** For a day the provider has answered queries, and the payment has not ended. */
  | 'undecided'
  /** Money that matches nothing of ours. */
  | 'unmatched'
  /** The provider reports a refund of ours with another amount. */
  | 'refund_mismatch'
  /** The provider contradicts the end of a refund. */
  | 'refund_contradiction'
  /** For a day the provider has answered queries, and the refund has not ended. */
  | 'refund_undecided'
  /** A Pix in suspense was to go back to its payer, and the provider refused it. */
  | 'return_refused'
  /** A stored value cannot be opened with the secrets that are set. */
  | 'unreadable'
  /** A provider has a payout under an id of ours that the books lack: the account's withdrawals are stopped. */
  | 'lost_payout'
  /** The database went back: what happened since a time may be lost. */
  | 'lost_time';

/** How long after the deadline in its answer the provider must still show a charge open before it counts as expired. */
export const expiryGraceMs = 60_000;

/** `payment` after `event`; null when it changes nothing. */
export function next(payment: Payment, event: PaymentEvent, facts: Facts): Step | null {
  // An event that moves no money names no money.
  if ('amountCents' in event && event.amountCents <= 0) return null;
  if ('back' in event && event.back.amountCents <= 0) return null;
  switch (event.type) {
    case 'chargeOpen':
      return chargeOpen(payment, event, facts);
    case 'chargePaid':
      return chargePaid(asPaid(payment, event, facts), event, facts);
    case 'chargeRemoved':
      return isOpen(payment)
        ? enter(payment, 'failed', facts, { reasonCode: reasonOfRemoval(payment) }, 'charge.failed')
        : null;
    case 'chargeRevised':
      return chargeRevised(payment, event, facts);
    case 'payoutPending':
      return payoutPending(payment, event, facts);
    case 'payoutCompleted':
      return payoutCompleted(payment, event, facts);
    case 'payoutReturned':
      return payoutReturned(payment, event, facts);
    case 'confirmed':
      return confirmed(payment, facts);
    case 'draftEnded':
      return payment.status === 'draft'
        ? enter(payment, 'cancelled', facts, { reasonCode: event.reason }, 'transfer.cancelled')
        : null;
    case 'refused':
      return refused(payment, event, facts);
    case 'debited':
      return debited(payment, event, facts);
  }
}

/** A call asked to cancel the charge. */
export const wasCancelAsked = ({ history }: Pick<Payment, 'history'>): boolean =>
  history.some(({ cause }) => cause.by === 'cancel');

const reasonOfRemoval = (payment: Payment): PaymentReason =>
  wasCancelAsked(payment) ? 'cancelled_by_merchant' : 'provider_refused';

const isOpen = (payment: Payment): boolean => payment.status === 'unknown' || payment.status === 'pending';

function chargeOpen(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'chargeOpen' }>,
  facts: Facts,
): Step | null {
  if (!isOpen(payment)) return null;
  if (event.amountCents !== payment.amountCents) return mismatch(payment, event.amountCents);
  const expiresAt = event.expiresAt ?? payment.expiresAt;
  const pastDeadline =
    event.observedAt !== null &&
    event.expiresAt !== null &&
    event.observedAt > event.expiresAt + expiryGraceMs;
  const news = { expiresAt, copyPaste: event.copyPaste ?? payment.copyPaste };
  // A change that is under way may give it another day: it ends by its own report first, or as one that a person decides.
  if (pastDeadline && !payment.due?.change && !facts.incidentOpen())
    return enter(payment, 'expired', facts, news, 'charge.expired');
  if (payment.status === 'unknown') return enter(payment, 'pending', facts, news);
  if (news.expiresAt === payment.expiresAt && news.copyPaste === payment.copyPaste) return null;
  return quiet({ ...payment, ...news, updatedAt: touched(payment, facts) });
}

function chargeRevised(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'chargeRevised' }>,
  facts: Facts,
): Step | null {
  const { due } = payment;
  const revised = due && revisedBy({ ...payment, due }, event);
  return revised && quiet({ ...payment, ...revised, updatedAt: touched(payment, facts) });
}

/** As the Pix shows it that pays it: it may be the first that shows a change. */
function asPaid(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'chargePaid' }>,
  facts: Facts,
): Payment {
  const { due } = payment;
  if (!due?.change || !(isOpen(payment) || payment.status === 'expired')) return payment;
  return facts.bookedUnder(event.endToEnd) === null
    ? { ...payment, ...revisedByPix({ ...payment, due }, event) }
    : payment;
}

function chargePaid(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'chargePaid' }>,
  facts: Facts,
): Step | null {
  if (facts.posted(eventKinds.suspense, event.endToEnd)) return null;
  if (payment.endToEnd === event.endToEnd) return paidAgain(payment, event, facts);
  // A restore had lost the charge, and a person has credited the Pix to the account that its id names.
  if (facts.posted(eventKinds.resolution, event.endToEnd)) return null;
  const { amountCents, endToEnd, paidAt } = event;
  if (facts.bookedUnder(endToEnd) !== null) return bookedElsewhere(payment, event, facts);
  const payable = isOpen(payment) || payment.status === 'expired';
  if (facts.operationDeleted) {
    const step = payable
      ? silently(enter(payment, 'paid', facts, { paidAt, endToEnd, settledAt: facts.now }))
      : quiet(payment);
    return suspendPix(step, 'deleted_operation', endToEnd, amountCents, paidAt);
  }
  if (payable && isPaymentOf(payment, amountCents)) {
    const feeCents = feeOfReceived(payment, amountCents);
    const step = enter(
      payment,
      'paid',
      facts,
      {
        paidAt,
        endToEnd,
        settledAt: facts.now,
        providerFeeCents: feeCents,
        netAmountCents: amountCents - feeCents,
        ...paidDue(payment, event),
      },
      'charge.paid',
    );
    step.postings.push({
      event: eventKinds.credit,
      reference: '',
      movement: { kind: 'credit', amountCents, feeCents },
      effectiveAt: paidAt,
      pix: endToEnd,
    });
    if (payment.due && !partsFit({ ...payment, due: payment.due }, event))
      step.incidents.push(otherWord(payment, event));
    return step;
  }
  const kind = payable
    ? 'amount_mismatch'
    : payment.status === 'paid'
      ? 'second_payment'
      : 'failed_charge_paid';
  const step = quiet({ ...payment, notice: unexpected[kind], updatedAt: touched(payment, facts) });
  step.events.push('charge.unexpected_payment');
  return suspendPix(step, kind, endToEnd, amountCents, paidAt);
}

/**
 * The Pix that paid the charge, once more. Of a due-date charge a later report may be the first one with its parts; one that says something else of the
 * same Pix moves nothing, and a person looks.
 */
function paidAgain(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'chargePaid' }>,
  facts: Facts,
): Step | null {
  const { due } = payment;
  if (!due?.paid) return null;
  const { amountCents, parts } = due.paid;
  const isSame =
    event.amountCents === amountCents &&
    partsFit({ ...payment, due }, event) &&
    (!event.parts || !parts || sameParts(parts, event.parts));
  if (!isSame) {
    const step = quiet(payment);
    step.incidents.push(otherWord(payment, event));
    return step;
  }
  return parts || !event.parts
    ? null
    : quiet({ ...payment, ...paidDue(payment, event), updatedAt: touched(payment, facts) });
}

/** One reference for all reports of a Pix that contradict: in every order of them there is one incident. */
const otherWord = (
  { id }: Payment,
  { endToEnd, amountCents }: Extract<PaymentEvent, { type: 'chargePaid' }>,
): Step['incidents'][number] => ({
  kind: 'report_mismatch',
  reference: `mismatch:${id}:parts:${endToEnd}`,
  amountCents,
  freezes: false,
});

/**
 * One Pix, one booking: what the provider reports of a Pix that another payment has, whatever adapter or answer says so, moves nothing. A
 * person looks which of the two it paid.
 */
function bookedElsewhere(
  payment: Payment,
  { endToEnd, amountCents }: Extract<PaymentEvent, { type: 'chargePaid' }>,
  facts: Facts,
): Step {
  const step = quiet(payment);
  step.incidents.push({
    kind: 'report_mismatch',
    reference: `mismatch:${payment.id}:pix:${endToEnd}`,
    amountCents,
    freezes: false,
    detail: { pix: endToEnd, bookedUnder: facts.bookedUnder(endToEnd) },
  });
  return step;
}

/** The notice to a merchant about money that a person has to decide about. */
const unexpected = {
  amount_mismatch: 'paid_other_amount',
  second_payment: 'paid_again',
  failed_charge_paid: 'paid_after_failure',
} as const satisfies Partial<Record<IncidentKind, Notice>>;

function payoutPending(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'payoutPending' }>,
  facts: Facts,
): Step | null {
  if (!isOpen(payment)) return null;
  if (!matches(payment, event, facts)) return mismatch(payment, event.amountCents);
  const endToEnd = event.endToEnd ?? payment.endToEnd;
  if (payment.status === 'unknown') return enter(payment, 'pending', facts, { endToEnd });
  return endToEnd === payment.endToEnd
    ? null
    : quiet({ ...payment, endToEnd, updatedAt: touched(payment, facts) });
}

function payoutCompleted(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'payoutCompleted' }>,
  facts: Facts,
): Step | null {
  if (!matches(payment, event, facts)) return mismatch(payment, event.amountCents);
  if (payment.status === 'completed') return null;
  if (!isOpen(payment)) return contradiction(payment, 'completed', event.amountCents);
  return completed(payment, event.endToEnd, event.settledAt ?? facts.now, facts);
}

function completed(payment: Payment, endToEnd: string | null, settledAt: number, facts: Facts): Step {
  const step = enter(
    payment,
    'completed',
    facts,
    {
      endToEnd: endToEnd ?? payment.endToEnd,
      settledAt: facts.now,
      providerFeeCents: payment.feeCents,
      netAmountCents: payment.amountCents - payment.feeCents,
    },
    'transfer.completed',
  );
  step.postings.push({
    event: eventKinds.complete,
    reference: '',
    movement: { kind: 'complete', grossCents: payment.amountCents, feeCents: payment.feeCents },
    effectiveAt: settledAt,
  });
  return step;
}

function payoutReturned(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'payoutReturned' }>,
  facts: Facts,
): Step | null {
  const { reference, amountCents, at } = event.back;
  if (facts.knowsReturn(reference)) return null;
  if (isReturnElsewhere(event.back, facts)) return returnedElsewhere(payment, event.back, facts);
  if (facts.operationDeleted) return suspendReturn(quiet(payment), 'deleted_operation', event.back, 1);
  if (payment.status !== 'completed' && !isOpen(payment)) return contradictedReturn(payment, event.back);
  if (isOpen(payment) && !matches(payment, { amountCents: event.sentCents, pixKey: event.pixKey }, facts)) {
    return mismatch(payment, event.sentCents);
  }
  // Money that came back must first have left: the completion was not seen, so it is posted now.
  const step = isOpen(payment) ? completed(payment, null, at, facts) : quiet(payment);
  const returnedCents = step.payment.returnedCents + amountCents;
  if (returnedCents > payment.amountCents - payment.feeCents) {
    return suspendReturn(step, 'return_exceeds', event.back, 1);
  }
  step.payment = {
    ...step.payment,
    returnedCents,
    notice: 'returned',
    updatedAt: touched(step.payment, facts),
  };
  step.postings.push({
    event: eventKinds.return,
    reference,
    movement: { kind: 'return', amountCents },
    effectiveAt: at,
    ...bookingOf(event.back),
  });
  step.events.push('transfer.returned');
  step.returns.push({ ...event.back, posted: true });
  return step;
}

/** The return that comes in is a Pix by itself, whose id in the payment system no other payment may book. */
const bookingOf = ({ rtrId }: KnownReturn): { pix?: string } => (rtrId === null ? {} : { pix: rtrId });

const isReturnElsewhere = ({ rtrId }: KnownReturn, facts: Facts): boolean =>
  rtrId !== null && facts.bookedUnder(rtrId) !== null;

/** A person gave it to another payout, or two payouts are reported with it: it moves nothing a second time, and a person looks whose it is. */
function returnedElsewhere(payment: Payment, { rtrId, amountCents }: KnownReturn, facts: Facts): Step {
  const step = quiet(payment);
  step.incidents.push({
    kind: 'report_mismatch',
    reference: `mismatch:${payment.id}:return:${rtrId}`,
    amountCents,
    freezes: false,
    detail: { pix: rtrId, bookedUnder: facts.bookedUnder(rtrId ?? '') },
  });
  return step;
}

function confirmed(payment: Payment, facts: Facts): Step | null {
  if (payment.status !== 'draft') return null;
  const step = enter(payment, 'unknown', facts, {});
  step.postings.push({
    event: eventKinds.reserve,
    reference: '',
    movement: { kind: 'reserve', grossCents: payment.amountCents },
    effectiveAt: facts.now,
  });
  return step;
}

function refused(
  payment: Payment,
  { reason: reasonCode, reported }: Extract<PaymentEvent, { type: 'refused' }>,
  facts: Facts,
): Step | null {
  // A refusal of another amount or key is not about what we sent, and proves nothing of it.
  if (reported && !matches(payment, reported, facts)) return mismatch(payment, reported.amountCents);
  // A release cannot be taken back: it waits until the key can be compared.
  if (reported?.pixKey && facts.isPixKey(reported.pixKey) === null) return null;
  if (payment.kind === 'deposit') {
    return isOpen(payment) ? enter(payment, 'failed', facts, { reasonCode }, 'charge.failed') : null;
  }
  if (payment.status === 'completed') return contradiction(payment, 'refused', payment.amountCents);
  if (!isOpen(payment)) return null;
  const step = enter(payment, 'cancelled', facts, { reasonCode }, 'transfer.cancelled');
  step.postings.push({
    event: eventKinds.release,
    reference: '',
    movement: { kind: 'release', grossCents: payment.amountCents },
    effectiveAt: facts.now,
  });
  return step;
}

function debited(
  payment: Payment,
  event: Extract<PaymentEvent, { type: 'debited' }>,
  facts: Facts,
): Step | null {
  const { reference, amountCents, at } = event.back;
  if (facts.knowsReturn(reference) || facts.bookedUnder(event.endToEnd) !== null) return null;
  if (facts.operationDeleted) return suspendReturn(quiet(payment), 'deleted_operation', event.back, -1);
  // Money that never reached the merchant cannot be taken from it: it goes back out of suspense.
  // Credited or not, a person decides, but for what a dispute holds: that is held for the provider to take.
  const isOther = event.endToEnd !== payment.endToEnd && !facts.isCreditedAndDisputed(event.endToEnd);
  if (isOther && facts.posted(eventKinds.suspense, event.endToEnd))
    return suspendReturn(quiet(payment), 'debit', event.back, -1);
  const step = quiet({
    ...payment,
    notice: 'debited',
    updatedAt: touched(payment, facts),
  });
  step.postings.push({
    event: eventKinds.debit,
    reference,
    movement: { kind: 'debit', amountCents },
    effectiveAt: at,
  });
  step.incidents.push({
    kind: 'debit',
    reference: `debit:${payment.id}:${reference}`,
    amountCents,
    freezes: false,
  });
  step.returns.push({ ...event.back, posted: true });
  return step;
}

/**
 * The provider's amount and key are ours: the net of the transfer, to the key that was asked for. Where our key cannot be opened
 * the id and the amount decide: rejected was to wait for the key, since then money that left or came back was not posted.
 */
function matches(
  payment: Payment,
  report: { amountCents: number; pixKey: string | null },
  facts: Facts,
): boolean {
  return (
    report.amountCents === reportedFor(payment) &&
    (report.pixKey === null || facts.isPixKey(report.pixKey) !== false)
  );
}

/**
 * One incident for each amount that is reported, and one for another key: what a person has decided about one says nothing
 * about the next.
 */
function mismatch(payment: Payment, amountCents: number): Step {
  const step = quiet(payment);
  const what = amountCents === reportedFor(payment) ? 'key' : amountCents;
  step.incidents.push({
    kind: 'report_mismatch',
    reference: `mismatch:${payment.id}:${what}`,
    amountCents,
    freezes: payment.kind === 'transfer',
  });
  return step;
}

/** The amount that the provider should report: the net of a transfer, the amount of a charge. */
const reportedFor = ({ kind, amountCents, feeCents }: Payment): number =>
  kind === 'transfer' ? amountCents - feeCents : amountCents;

function contradiction(payment: Payment, reported: string, amountCents: number): Step {
  const step = quiet(payment);
  const reference = `contradiction:${payment.id}:${reported}`;
  step.incidents.push({ kind: 'contradiction', reference, amountCents, freezes: true });
  return step;
}

/** A return of a cancelled transfer. It is known from now on: its other names must not open a second incident. */
function contradictedReturn(payment: Payment, back: KnownReturn): Step {
  const step = contradiction(payment, `returned:${back.reference}`, back.amountCents);
  step.returns.push(back);
  return step;
}

/** @param sign 1: money that came back to us; -1: money that left */
function suspendReturn(step: Step, kind: IncidentKind, back: KnownReturn, sign: 1 | -1): Step {
  const { postings, ...suspended } = suspend(step, kind, back.reference, sign * back.amountCents, back.at);
  suspended.returns.push({ ...back, posted: true });
  if (sign === -1) return { ...suspended, postings };
  const booked = postings.map((one) =>
    one.reference === back.reference ? { ...one, ...bookingOf(back) } : one,
  );
  return { ...suspended, postings: booked };
}

/** Puts money without a live owner into suspense, beside whatever `step` already does. */
function suspend(step: Step, kind: IncidentKind, reference: string, amountCents: number, at: number): Step {
  step.postings.push({
    event: eventKinds.suspense,
    reference,
    movement: { kind: 'bookToSuspense', amountCents },
    effectiveAt: at,
  });
  step.incidents.push({
    kind,
    reference: `suspense:${step.payment.id}:${reference}`,
    amountCents: Math.abs(amountCents),
    freezes: false,
  });
  return step;
}

/** A received Pix: it is booked here. */
function suspendPix(step: Step, kind: IncidentKind, endToEnd: string, amountCents: number, at: number): Step {
  const suspended = suspend(step, kind, endToEnd, amountCents, at);
  const postings = suspended.postings.map((one) =>
    one.reference === endToEnd ? { ...one, pix: endToEnd } : one,
  );
  return { ...suspended, postings };
}

export const quiet = (payment: Payment): Step => ({
  payment,
  postings: [],
  events: [],
  incidents: [],
  returns: [],
});

/** A deleted operation is invisible, so its payments write no events. */
const silently = (step: Step): Step => ({ ...step, events: [] });

export function enter(
  payment: Payment,
  status: PaymentStatus,
  facts: Pick<Facts, 'now' | 'cause' | 'operationDeleted'>,
  news: Partial<Payment>,
  ...events: PaymentEventType[]
): Step {
  const updatedAt = touched(payment, facts);
  const step = { status, at: new Date(updatedAt).toISOString(), cause: facts.cause };
  return {
    payment: { ...payment, ...news, status, updatedAt, history: [...payment.history, step] },
    postings: [],
    returns: [],
    events: facts.operationDeleted ? [] : [...firstWord(payment, facts.cause), ...events],
    incidents: [],
  };
}

/**
 * The event of leaving `unknown` besides that of the entered state. Rejected: emitting it on `pending` alone, since a payment that is over
 * before its answer was heard (a fast settlement, a lost answer) would then never have been created for its subscriber.
 */
export function firstWord(payment: Payment, cause: Cause): PaymentEventType[] {
  // A call of the merchant's refuses before the provider learns of it, or confirms a draft: neither is the provider's word.
  if (payment.status !== 'unknown' || cause.by === 'api' || cause.by === 'rule') return [];
  return [payment.kind === 'deposit' ? 'charge.created' : 'transfer.created'];
}

/** Strictly increasing per payment, whatever the clock does: receivers order snapshots by it. */
export const touched = (payment: Payment, facts: Pick<Facts, 'now'>): number =>
  Math.max(facts.now, payment.updatedAt + 1);
