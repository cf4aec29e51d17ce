import type { PixClaims } from '../../kinds/refund/pix-claims.ts';
import type { Intent } from '../../money/intent.ts';
import { eventKinds } from '../../money/journal.ts';
import type { Cause, Payment, PaymentStatus } from '../../money/payment.ts';
import {
  isRefundOpen,
  nextRefund,
  type Refund,
  type RefundEvent,
  type RefundOutcome,
} from '../../money/refund.ts';
import {
  factsOfDecision,
  firstWord,
  next,
  type PaymentEvent,
  type PaymentEventType,
} from '../../money/state.ts';
import { OperatorRefused } from '../../store/operator.ts';
import type { IncidentCase, SuspendedMoney } from '../../store/rows/incidents.sql.ts';
import type { ChainKey, Posting } from '../../store/till.ts';
import { type PayerReturn, type PayerReturnInput, payerReturnOf } from './return-to-payer.ts';

/**
 * How a person resolves an incident. Nothing else resolves one, nothing else ends a freeze, and money is posted once. Pure.
 *
 * R is what stands in suspense (negative: what left without an owner), and no more than what is left of its Pix: what came in and was taken
 * back again covers each other, whatever the order, and then only `none` fits both. G, N, f a transfer's gross, net and fee, X the reported amount.
 * *Operation* is the one that owns the payment. Where it was deleted, a `credit` goes to the account's main operation (the money is the
 * merchant's), and nothing is ever taken from another operation. A dash: refused.
 *
 * `return` fits every incident of a Pix that a charge received and that stands in suspense whole: it goes back to its payer
 * (`return-to-payer.ts`), unless something else took or claims it (`pix-claims.ts`), and a charge that was still open because another amount came becomes `expired`.
 *
 * | Incident | `credit` | `debit` | `writeoff` |
 * |---|---|---|---|
 * | `amount_mismatch`, charge open or expired | R − fee to the operation (a fee above R becomes R); `paid` with that net | – | R is ours; an open charge becomes `expired` |
 * | the same, charge paid or failed by now; `second_payment`, `failed_charge_paid` | R to the operation, without a fee: it was charged once or never | – | R is ours |
 * | `return_exceeds` | R to the operation | – | R is ours |
 * | `deleted_operation`, money in | R to the main operation, less the fee where it is the payment that made the charge `paid` | – | R is ours |
 * | `deleted_operation`, money out | – | – (no other operation covers it) | our loss |
 * | `unmatched` | taken back out of suspense: a payment of ours has posted the same Pix by itself since (it must exist, on the same connection, in the same direction, with the same amount). Else money in whose id names an account, of a payment that is not here or a charge that is here on another connection: R to the account's main operation, without a fee | – | ours, or our loss |
 * | `debit` (already taken from the merchant) | – | – | what the merchant still owes of it is forgiven |
 * | `debit` of money that stood in suspense (R < 0) | – | taken from the operation, at most what of it had been credited there; the rest is our loss | our loss |
 * | `report_mismatch`, transfer unfinished | it did not leave: `cancelled`, reserve released | it left: `completed`; N − X comes back as a return; what X is above N is our loss, since the merchant agreed to G | X left at our cost: `cancelled`, reserve released, X our loss |
 * | `report_mismatch`, transfer cancelled | – | X and f are taken, at most G in all; above that our loss | X our loss |
 * | `report_mismatch`, charge unfinished | – | – | `expired` (a later payment of it opens a new incident) |
 * | `contradiction`: cancelled, then completed | – | N and f are taken; what is missing becomes a debt; the state stays | N our loss |
 * | `contradiction`: cancelled, then returned | X to the operation, after a `debit` of the one above alone | – | X is ours, where no `debit` took it |
 * | `contradiction`: completed, then refused | what had left and f come back to the operation; the state stays | – | – |
 * | `undecided`, transfer | `cancelled`, reserve released | `completed` | – |
 * | `undecided`, charge | – | – | `failed` |
 * | `refund_mismatch`, refund unfinished | it did not go back: `failed`, reserve released | it went back: `completed`; what X is below the amount comes back, what it is above is our loss | – |
 * | `refund_mismatch`, refund failed | – | X is taken, at most the amount; above that our loss | X our loss |
 * | `refund_contradiction`: failed, then completed | – | its amount is taken; what is missing becomes a debt; the state stays | our loss |
 * | `refund_contradiction`: completed, then refused | its amount comes back to the operation; the state stays | – | – |
 * | `refund_undecided` | `failed`, reserve released | `completed` | – |
 * | `return_refused`: a Pix in suspense could not go back | R to the operation, without a fee | – | R is ours |
 * | `refund_…` of a return to the payer, unfinished | it did not go back: `failed`, R stands in suspense again with an incident | it went back: `completed`; what X differs from R is ours, or our loss | – |
 * | the same, failed | – | – | X our loss |
 * | the same, completed, then refused | its amount to the operation | – | it is ours |
 * | `unreadable` | – | – | – |
 * | `divergence`, `close_difference`, `unread`, `lost_time`, `connection_held` | – | – | – |
 * | `lost_payout`; `none` lets the account's withdrawals go out again | – | – | – |
 *
 * Where a refund brings a part of the charge's fee back (`feeBackCents`), the part goes with its amount: back to the merchant where it is carried
 * out, taken again where it is not. What was reported with another amount changes the part by nothing.
 *
 * A Pix that its payer disputes is held from the `credit` on (`kinds/payment/hold-of-pix.ts`), and what the provider then takes of it is taken from the
 * operation without asking a person again.
 *
 * `none` is always allowed: a person has looked, and nothing is posted. Money in suspense then stays there, with a resolved incident
 * that gives the reason; a payment that is unfinished is followed up as before (a charge that the provider calls paid stays open). Since
 * nothing was posted, one of the other actions may follow later; every other action is the last.
 *
 * When the payment has changed in the meantime (an `undecided` transfer that completed), only `none` is left.
 */
export const actions = ['credit', 'debit', 'writeoff', 'return', 'none'] as const;
export type Action = (typeof actions)[number];

export const isAction = (text: string): text is Action => (actions as readonly string[]).includes(text);

/** An incident's money and payment, read under the lock. */
export interface CaseFacts {
  now: number;
  incidentId: string;
  payment: Payment | undefined;
  /** Of the payment, or of the refund that the incident is about. */
  intent: Intent | undefined;
  /** The refund that the incident is about. */
  refund: Refund | undefined;
  account: ChainKey;
  /** The payment's operation; null: it was deleted, or there is none. */
  own: ChainKey | null;
  /** The account's main operation. */
  heir: ChainKey | null;
  receivableCents: number;
  /** The provider's id of the money in suspense. */
  reference: string | null;
  /**
   * `leftCents`: what of its Pix stands in suspense now, its returns taken off. `creditedCents`: what decisions credited to an operation of it,
   * less what they took back.
   */
  suspended: (SuspendedMoney & { leftCents: number; creditedCents: number }) | undefined;
  /** For `contradiction`: what earlier decisions about the payment have cost its operation. */
  borneCents: number;
  /** For `unmatched`: a payment has posted the same Pix. */
  claimed: boolean;
  /** For `unmatched`: whose the money is by the id that it names. */
  named: NamedOwner | null;
  /** Over which the money moved. */
  connection: string;
  /** For `return`. */
  returning: (PayerReturnInput & PixClaims) | null;
}

/** The account that the id of a payment names, which is not here, or here on another connection: a restore has lost it. */
export interface NamedOwner {
  /** The payment; the account where the books have that one on another connection, since a payment has one connection for all of its journals. */
  subject: string;
  /** The account's main operation, when it lives. */
  operation: ChainKey | null;
  /** Why its money must not be credited; null: it may. */
  problem: string | null;
}

export interface Ending {
  payment: Payment | undefined;
  postings: Posting[];
  events: PaymentEventType[];
  /** The payment, or the refund, has ended: it is not followed up any more. */
  ends: boolean;
  /** The state of the refund. */
  refund?: RefundOutcome;
  /** The refund that goes back to a payer. */
  toPayer?: PayerReturn;
}

/** An incident, the action and the facts, with what the rules below share. */
interface Case {
  incident: IncidentCase;
  action: Exclude<Action, 'none'>;
  facts: CaseFacts;
}

type DecidedCase = Case & { action: Exclude<Action, 'none' | 'return'> };

/** Kinds whose money stands in suspense, and came in for a charge of ours. */
const returnable: ReadonlySet<IncidentCase['kind']> = new Set([
  'amount_mismatch',
  'second_payment',
  'failed_charge_paid',
  'deleted_operation',
  'return_refused',
]);

/** By the table above. @throws OperatorRefused an action that does not fit */
export function endingOf(incident: IncidentCase, action: Action, facts: CaseFacts): Ending {
  if (action === 'none') return posted(facts, []);
  if (action === 'return') return ofReturnToPayer({ incident, action, facts });
  const one: DecidedCase = { incident, action, facts };
  switch (incident.kind) {
    case 'amount_mismatch':
    case 'second_payment':
    case 'failed_charge_paid':
    case 'return_exceeds':
    case 'deleted_operation':
    case 'return_refused':
      return ofReceivedMoney(one);
    case 'unmatched':
      return ofUnmatched(one);
    case 'debit':
      return ofDebit(one);
    case 'report_mismatch':
      return ofReportMismatch(one);
    case 'contradiction':
      return ofContradiction(one);
    case 'undecided':
      return ofUndecided(one);
    case 'refund_mismatch':
    case 'refund_contradiction':
    case 'refund_undecided':
      return ofRefund(one);
    case 'unreadable':
    case 'divergence':
    case 'close_difference':
    case 'unread':
    case 'connection_held':
    case 'lost_payout':
    case 'lost_time':
      throw unfit(one);
  }
}

function ofReceivedMoney(one: DecidedCase): Ending {
  const { incident, action, facts } = one;
  const { payment, account, own } = facts;
  if (action === 'debit') throw unfit(one);
  const { cents, at } = suspendedOf(facts);
  if (action === 'writeoff') {
    const postings = [post(one, account, { kind: 'writeOff', amountCents: cents })];
    const isOpenCharge = incident.kind === 'amount_mismatch' && isOpen(payment);
    return isOpenCharge ? expired(facts, payment, postings) : posted(facts, postings);
  }
  const target = own ?? facts.heir;
  if (cents < 0 || target === null) throw unfit(one);
  const isPayable = payment && (isOpen(payment) || payment.status === 'expired');
  if (incident.kind === 'amount_mismatch' && own && isPayable) return paidAs(one, payment, own, cents, at);
  const settles = incident.kind === 'deleted_operation' && payment?.endToEnd === facts.reference;
  const feeCents = settles && payment?.kind === 'deposit' ? Math.min(payment.feeCents, cents) : 0;
  return posted(facts, [post(one, target, { kind: 'creditBesidePayment', amountCents: cents, feeCents })]);
}

/** The Pix goes back whole. */
function ofReturnToPayer(one: Case): Ending {
  const { incident, facts } = one;
  const { payment, account, reference, connection, returning, now } = facts;
  if (!returnable.has(incident.kind)) throw unfit(one);
  const { suspended } = facts;
  if (!suspended) throw nothingThere();
  const { cents: amountCents, at, leftCents } = suspended;
  if (payment?.kind !== 'deposit' || amountCents <= 0 || reference === null || returning === null)
    throw unfit(one);
  const { accountId, operationId, id: paymentId } = payment;
  const pix = {
    accountId,
    operationId,
    paymentId,
    endToEnd: reference,
    amountCents,
    at,
    connection,
    incidentId: facts.incidentId,
  };
  const toPayer = payerReturnOf(returning, pix, returning, now);
  if (leftCents < amountCents) throw nothingLeft();
  const reserve: Posting = {
    chain: account,
    subject: toPayer.refund.id,
    event: eventKinds.refundReserve,
    reference: '',
    effectiveAt: now,
    movement: { kind: 'suspenseReserve', amountCents },
  };
  const isOpenCharge = incident.kind === 'amount_mismatch' && isOpen(payment);
  const ending = isOpenCharge ? expired(facts, payment, [reserve]) : posted(facts, [reserve]);
  return { ...ending, toPayer };
}

/** The charge is paid with the amount that came. What of it went back since is taken again, as a debit after it would be. */
function paidAs(one: Case, charge: Payment, own: ChainKey, leftCents: number, paidAt: number): Ending {
  const { facts } = one;
  const cents = facts.suspended?.cents ?? leftCents;
  const feeCents = Math.min(charge.feeCents, leftCents);
  const payment = entered(charge, 'paid', facts, {
    endToEnd: facts.reference,
    paidAt,
    settledAt: facts.now,
    providerFeeCents: feeCents,
    netAmountCents: cents - feeCents,
  });
  const postings = [post(one, own, { kind: 'creditFromSuspense', amountCents: cents, feeCents })];
  if (leftCents < cents)
    postings.push(post(one, own, { kind: 'debitToSuspense', amountCents: cents - leftCents }, ':back'));
  return { payment, postings, events: [...firstWord(charge, causeOf(facts)), 'charge.paid'], ends: true };
}

function ofUnmatched(one: DecidedCase): Ending {
  const { action, facts } = one;
  if (action !== 'credit' && action !== 'writeoff') throw unfit(one);
  const { cents } = suspendedOf(facts);
  if (action === 'writeoff')
    return posted(facts, [post(one, facts.account, { kind: 'writeOff', amountCents: cents })]);
  const takenBack = post(one, facts.account, { kind: 'bookToSuspense', amountCents: -cents });
  if (facts.claimed) return posted(facts, [takenBack]);
  return posted(facts, [takenBack, creditOfNamed(one)]);
}

/**
 * Money that came in for a payment which a restore has lost goes to the account that the payment's id names, under the id and the Pix: should the
 * merchant's repeat bring the payment back, it finds the Pix posted.
 */
function creditOfNamed({ facts, incident }: DecidedCase): Posting {
  const { named, reference, connection } = facts;
  const { cents, at } = suspendedOf(facts);
  if (named === null || reference === null) throw new OperatorRefused('no payment has posted this Pix');
  if (named.problem !== null) throw new OperatorRefused(named.problem);
  if (cents <= 0 || cents !== incident.amountCents)
    throw new OperatorRefused('only money that came in is credited to the account that its id names');
  if (named.operation === null) throw new OperatorRefused('the account has no live main operation');
  return {
    chain: named.operation,
    subject: named.subject,
    event: eventKinds.resolution,
    reference,
    movement: { kind: 'credit', amountCents: cents, feeCents: 0 },
    effectiveAt: at,
    connection,
  };
}

function ofDebit(one: DecidedCase): Ending {
  const { incident, action, facts } = one;
  const { own, suspended } = facts;
  if (suspended) {
    if (action !== 'writeoff' && (action !== 'debit' || !own)) throw unfit(one);
    const { cents } = suspendedOf(facts);
    const loss = (amountCents: number, more = '') =>
      post(one, facts.account, { kind: 'writeOff', amountCents }, more);
    if (action === 'writeoff' || !own) return posted(facts, [loss(cents)]);
    const takenCents = Math.min(-cents, suspended.creditedCents);
    if (takenCents <= 0) throw new OperatorRefused('no operation was credited with this money: `writeoff`');
    const taken = post(one, own, { kind: 'debitToSuspense', amountCents: takenCents });
    return posted(facts, takenCents === -cents ? [taken] : [taken, loss(cents + takenCents, ':back')]);
  }
  const amountCents = Math.min(facts.receivableCents, incident.amountCents);
  if (action !== 'writeoff' || !own) throw unfit(one);
  if (amountCents === 0) throw new OperatorRefused('nothing of it is owed any more');
  return posted(facts, [post(one, own, { kind: 'waiveDebt', amountCents })]);
}

function ofReportMismatch(one: DecidedCase): Ending {
  const { incident, action, facts } = one;
  const { payment, own } = facts;
  if (!payment) throw unfit(one);
  const reported = incident.amountCents;
  if (payment.kind === 'deposit') {
    if (action !== 'writeoff' || !isOpen(payment)) throw unfit(one);
    return expired(facts, payment, []);
  }
  if (isOpen(payment)) {
    if (action === 'debit') return completedAs(one, payment, reported);
    const cancelled = cancel(one);
    const borne = action === 'writeoff' ? bear(one, reported) : [];
    return { ...cancelled, postings: [...cancelled.postings, ...borne] };
  }
  if (payment.status !== 'cancelled') throw unfit(one);
  if (action === 'writeoff') return posted(facts, bear(one, reported));
  if (action !== 'debit' || !own) throw unfit(one);
  const netCents = Math.min(reported, netOf(payment));
  const recover = post(one, own, { kind: 'debitLateCompletion', netCents, feeCents: payment.feeCents });
  return posted(facts, [recover, ...bear(one, reported - netCents, ':above')]);
}

/** The transfer left with the reported amount. */
function completedAs(one: Case, transfer: Payment, reported: number): Ending {
  const completed = complete(one, transfer);
  const { payment, postings, events } = completed;
  const amountCents = netOf(transfer) - reported;
  if (amountCents <= 0) return { ...completed, postings: [...postings, ...bear(one, -amountCents)] };
  const back = post(one, one.facts.own as ChainKey, { kind: 'return', amountCents });
  return {
    payment: payment && { ...payment, returnedCents: amountCents, notice: 'returned' },
    // As a return, so that the money that came back of a transfer is always the sum of its returns.
    postings: [...postings, { ...back, event: eventKinds.return }],
    events: [...events, 'transfer.returned'],
    ends: true,
  };
}

function ofContradiction(one: DecidedCase): Ending {
  const { incident, action, facts } = one;
  const { payment, account, own } = facts;
  if (!payment) throw unfit(one);
  const { amountCents, reference } = incident;
  const { feeCents } = payment;
  const target = own ?? facts.heir;
  const borne = (cents: number) =>
    posted(facts, [post(one, own ?? account, { kind: 'bookLoss', amountCents: cents })]);
  // `contradiction:<payment>:<what was reported>`, and for a return the provider's id of it.
  switch (reference.split(':')[2]) {
    case 'completed':
      if (action === 'writeoff') return borne(amountCents);
      if (action !== 'debit' || !own) throw unfit(one);
      return posted(facts, [
        post(one, own, { kind: 'debitLateCompletion', netCents: netOf(payment), feeCents }),
      ]);
    case 'returned':
      requireBearer(one, amountCents);
      if (action === 'writeoff') return borne(-amountCents);
      if (action !== 'credit' || !target) throw unfit(one);
      return posted(facts, [post(one, target, { kind: 'return', amountCents })]);
    default: {
      const netCents = netOf(payment) - payment.returnedCents;
      if (action !== 'credit' || !target || netCents === 0) throw unfit(one);
      return posted(facts, [post(one, target, { kind: 'creditNeverLeft', netCents, feeCents })]);
    }
  }
}

function ofUndecided(one: DecidedCase): Ending {
  const { action, facts } = one;
  const { payment } = facts;
  if (!isOpen(payment)) throw unfit(one);
  if (payment.kind === 'deposit') {
    if (action !== 'writeoff') throw unfit(one);
    return cancel(one);
  }
  if (action === 'credit') return cancel(one);
  if (action === 'debit') return complete(one, payment);
  throw unfit(one);
}

function ofRefund(one: DecidedCase): Ending {
  const { incident, action, facts } = one;
  const { refund, own } = facts;
  if (refund?.reason === 'odd_money') return ofPayerReturn(one, refund);
  if (!refund || !own) throw unfit(one);
  const { amountCents } = refund;
  const feeBackCents = Math.min(refund.feeBackCents ?? 0, amountCents);
  const reported = incident.amountCents;
  if (isRefundOpen(refund)) {
    if (action === 'credit')
      return refundStep(one, refund, own, { type: 'refused', reason: 'cancelled_by_operator' });
    if (action !== 'debit') throw unfit(one);
    const completed = refundStep(one, refund, own, {
      type: 'completed',
      amountCents,
      rtrId: null,
      settledAt: null,
    });
    const back: Posting[] =
      reported < amountCents
        ? [post(one, own, { kind: 'creditNeverLeft', netCents: amountCents - reported, feeCents: 0 })]
        : bear(one, reported - amountCents);
    return { ...completed, postings: [...completed.postings, ...back] };
  }
  if (incident.kind === 'refund_undecided') throw unfit(one);
  if (refund.status === 'completed') {
    if (incident.kind !== 'refund_contradiction' || action !== 'credit') throw unfit(one);
    return posted(facts, [
      post(one, own, { kind: 'creditNeverLeft', netCents: amountCents, feeCents: -feeBackCents }),
    ]);
  }
  if (action === 'writeoff') return posted(facts, bear(one, reported));
  if (action !== 'debit') throw unfit(one);
  const netCents = Math.min(reported, amountCents);
  const feeCents = -Math.min(feeBackCents, netCents);
  const recover = post(one, own, { kind: 'debitLateCompletion', netCents, feeCents });
  return posted(facts, [recover, ...bear(one, reported - netCents, ':above')]);
}

/** The merchant never had the money and never owes it. */
function ofPayerReturn(one: DecidedCase, refund: Refund): Ending {
  const { incident, action, facts } = one;
  const { account, own, heir } = facts;
  const { amountCents } = refund;
  const reported = incident.amountCents;
  const lost = (cents: number): Posting[] =>
    cents === 0 ? [] : [post(one, account, { kind: 'bookLoss', amountCents: cents })];
  if (isRefundOpen(refund)) {
    if (action === 'credit')
      return refundStep(one, refund, account, { type: 'refused', reason: 'cancelled_by_operator' });
    if (action !== 'debit') throw unfit(one);
    const event = { type: 'completed', amountCents, rtrId: null, settledAt: null } as const;
    const completed = refundStep(one, refund, account, event);
    return { ...completed, postings: [...completed.postings, ...lost(reported - amountCents)] };
  }
  if (incident.kind === 'refund_undecided') throw unfit(one);
  if (refund.status === 'failed') {
    if (action !== 'writeoff') throw unfit(one);
    return posted(facts, lost(reported));
  }
  if (incident.kind !== 'refund_contradiction') throw unfit(one);
  if (action === 'writeoff') return posted(facts, lost(-amountCents));
  const target = own ?? heir;
  if (action !== 'credit' || !target) throw unfit(one);
  return posted(facts, [
    post(one, account, { kind: 'bookToSuspense', amountCents }),
    post(one, target, { kind: 'creditBesidePayment', amountCents, feeCents: 0 }, ':claim'),
  ]);
}

/** A step of a refund that a person decides. */
function refundStep(one: Case, refund: Refund, own: ChainKey, event: RefundEvent): Ending {
  const { facts } = one;
  requireNotSending(facts);
  const made = nextRefund(refund, event, { now: facts.now, cause: causeOf(facts) });
  if (!made?.posting) throw unfit(one);
  const { connection } = facts;
  const posting = { ...made.posting, chain: own, subject: refund.id, reference: '', connection };
  return { ...posted(facts, [posting]), ends: true, refund: made };
}

function requireNotSending({ intent }: CaseFacts): void {
  if (intent?.state === 'sending') {
    throw new OperatorRefused('it is being sent at this moment: wait until the attempt has ended');
  }
}

// ------------------------------------------------------------------------------------------------------------ shared parts

const unfit = ({ incident, action }: Case): OperatorRefused =>
  new OperatorRefused(`${action} does not fit this incident (${incident.kind})`);

const nothingThere = (): OperatorRefused => new OperatorRefused('nothing of it stands in suspense');

const nothingLeft = (): OperatorRefused =>
  new OperatorRefused('nothing of it is left in suspense: see the other incidents of the Pix, or `none`');

/** The amount that an act may take: its own part, at most the rest of the Pix. Money that came in and went back again covers each other. */
function suspendedOf({ suspended }: CaseFacts): { cents: number; at: number } {
  if (!suspended) throw nothingThere();
  const { cents, leftCents, at } = suspended;
  const left = cents > 0 ? Math.min(cents, leftCents) : Math.max(cents, leftCents);
  if (left === 0 || left > 0 !== cents > 0) throw nothingLeft();
  return { cents: left, at };
}

type OpenPayment = Payment & { status: 'unknown' | 'pending' };

const isOpen = (payment: Payment | undefined): payment is OpenPayment =>
  payment?.status === 'unknown' || payment?.status === 'pending';

const netOf = ({ amountCents, feeCents }: Payment): number => amountCents - feeCents;

const causeOf = ({ incidentId }: CaseFacts): Cause => ({ by: 'operator', id: incidentId });

/** The payment stays as it is. */
const posted = ({ payment }: CaseFacts, postings: Posting[]): Ending => ({
  payment,
  postings,
  events: [],
  ends: false,
});

/** @param more makes the reference of a second posting unique */
/** The side that bore the money that left gets what came back of it. @throws OperatorRefused the other side bore it */
function requireBearer({ action, facts }: DecidedCase, amountCents: number): void {
  const byOperation = facts.borneCents >= amountCents;
  if (action === 'credit' && !byOperation)
    throw new OperatorRefused(
      'no decision has taken this money from the operation: decide about its completion first, or `writeoff`',
    );
  if (action === 'writeoff' && byOperation)
    throw new OperatorRefused('a decision has taken this money from the operation: `credit`');
}

const post = (
  { incident, facts }: Case,
  chain: ChainKey,
  movement: Posting['movement'],
  more = '',
): Posting => ({
  chain,
  subject: incident.paymentId ?? facts.account.accountId,
  event: eventKinds.resolution,
  reference: facts.incidentId + more,
  movement,
  effectiveAt: facts.now,
  connection: facts.connection,
});

/** Our loss. */
const bear = (one: Case, amountCents: number, more = ''): Posting[] =>
  amountCents > 0
    ? [post(one, one.facts.own ?? one.facts.account, { kind: 'bookLoss', amountCents }, more)]
    : [];

const expired = (facts: CaseFacts, charge: Payment, postings: Posting[]): Ending => ({
  payment: entered(charge, 'expired', facts, {}),
  postings,
  events: [...firstWord(charge, causeOf(facts)), 'charge.expired'],
  ends: true,
});

const cancel = (one: Case): Ending => step(one, { type: 'refused', reason: 'cancelled_by_operator' });

const complete = (one: Case, transfer: Payment): Ending =>
  step(one, {
    type: 'payoutCompleted',
    amountCents: netOf(transfer),
    pixKey: null,
    endToEnd: null,
    settledAt: null,
  });

/** A step of the state machine that a person decides. */
function step(one: Case, event: PaymentEvent): Ending {
  const { payment, own, now, connection } = one.facts;
  if (!payment || !own) throw unfit(one);
  requireNotSending(one.facts);
  const made = next(payment, event, factsOfDecision(now, causeOf(one.facts)));
  if (!made) throw unfit(one);
  const postings = made.postings.map((posting) => ({
    ...posting,
    chain: own,
    subject: payment.id,
    connection,
  }));
  return { payment: made.payment, postings, events: made.events, ends: true };
}

/** A state that no report of the provider leads to, only a person's decision. */
function entered(
  payment: Payment,
  status: PaymentStatus,
  facts: CaseFacts,
  changed: Partial<Payment>,
): Payment {
  const updatedAt = Math.max(facts.now, payment.updatedAt + 1);
  const reached = { status, at: new Date(updatedAt).toISOString(), cause: causeOf(facts) };
  return { ...payment, ...changed, status, updatedAt, history: [...payment.history, reached] };
}
