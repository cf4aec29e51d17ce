import { pixOf } from '../../flow/unmatched.ts';
import type { PixClaims } from '../../kinds/refund/pix-claims.ts';
import { isHeld } from '../../money/card.ts';
import { feeOfReceived, paidDue } from '../../money/due.ts';
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
import type { IncidentCase, OwedCredit, SuspendedMoney } from '../../store/rows/incidents.sql.ts';
import type { ChainKey, Posting } from '../../store/till.ts';
import { type PayerReturn, type PayerReturnInput, payerReturnOf } from './return-to-payer.ts';

/**
 * How a person resolves an incident. Nothing else resolves one, nothing else ends a freeze, and money is posted once. Pure.
 *
 * There are three acts: the operation bears the money or gets it, its payer gets it back, the installation bears it or keeps it. `acts` names the
 * command's words for them, `endings` is the table: kinds of incidents, their cases, and what each act does there. An act that a case does not name is
 * refused.
 *
 * R is what stands in suspense (negative: what left without an owner), and no more than what is left of its Pix: what came in and was taken
 * back again covers each other, whatever the order, and then only `none` fits both. G, N, f a transfer's gross, net and fee, X the reported amount.
 * *Operation* is the one that owns the payment. Where it was deleted, a `credit` goes to the account's main operation (the money is the
 * merchant's), and nothing is ever taken from another operation.
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

/** The act behind each word of the command. An operation is credited with what is its own, and debited with what it owes. */
export const acts = {
  credit: 'operation',
  debit: 'operation',
  return: 'payer',
  writeoff: 'installation',
} as const satisfies Record<Exclude<Action, 'none'>, 'operation' | 'payer' | 'installation'>;

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
  /** To whom the money is owed, where the account is of another cell; null: it is credited by this decision. */
  owed: Pick<OwedCredit, 'accountId' | 'paymentId' | 'subject'> | null;
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
  /** The money that another cell credits. */
  owed?: OwedCredit;
}

/** An incident, the action and the facts, with what the rules below share. */
interface Case {
  incident: IncidentCase;
  action: Exclude<Action, 'none'>;
  facts: CaseFacts;
}

// ---------------------------------------------------------------------------------------------------------- money that came in

function keepReceived(one: Case): Ending {
  const { incident, facts } = one;
  const kept = keepSuspended(one);
  const { payment } = facts;
  return incident.kind === 'amount_mismatch' && isOpen(payment)
    ? expired(facts, payment, kept.postings)
    : kept;
}

/** Ours, or our loss. */
function keepSuspended(one: Case): Ending {
  const { cents } = suspendedOf(one.facts);
  return posted(one.facts, [post(one, one.facts.account, { kind: 'writeOff', amountCents: cents })]);
}

function creditReceived(one: Case): Ending {
  const { incident, facts } = one;
  const { payment, own } = facts;
  const { cents, at } = suspendedOf(facts);
  const target = own ?? facts.heir;
  if (cents < 0 || target === null) throw unfit(one);
  const isPayable = payment && (isOpen(payment) || payment.status === 'expired');
  if (incident.kind === 'amount_mismatch' && own && isPayable) return paidAs(one, payment, own, cents, at);
  // It was charged once or never, but where this is the payment that made the charge `paid`.
  const settles = incident.kind === 'deleted_operation' && payment?.endToEnd === facts.reference;
  const feeCents =
    settles && payment?.kind === 'deposit' ? Math.min(feeOfReceived(payment, cents), cents) : 0;
  return posted(facts, [post(one, target, { kind: 'creditBesidePayment', amountCents: cents, feeCents })]);
}

/** The Pix goes back whole. */
function returnToPayer(one: Case): Ending {
  const { incident, facts } = one;
  const { payment, account, reference, connection, returning, now, suspended } = facts;
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
  const feeCents = Math.min(feeOfReceived(charge, cents), leftCents);
  const payment = entered(charge, 'paid', facts, {
    endToEnd: facts.reference,
    paidAt,
    settledAt: facts.now,
    providerFeeCents: feeCents,
    netAmountCents: cents - feeCents,
    ...paidDue(charge, { amountCents: cents }),
  });
  const postings = [post(one, own, { kind: 'creditFromSuspense', amountCents: cents, feeCents })];
  if (leftCents < cents)
    postings.push(post(one, own, { kind: 'debitToSuspense', amountCents: cents - leftCents }, ':back'));
  return { payment, postings, events: [...firstWord(charge, causeOf(facts)), 'charge.paid'], ends: true };
}

function creditUnmatched(one: Case): Ending {
  const { facts } = one;
  const { cents } = suspendedOf(facts);
  const takenBack = post(one, facts.account, { kind: 'bookToSuspense', amountCents: -cents });
  if (facts.claimed) return posted(facts, [takenBack]);
  const { named, ...pix } = ofNamed(one);
  if (named.owed) return { ...posted(facts, [takenBack]), owed: { ...named.owed, ...pix } };
  return posted(facts, [takenBack, creditOfNamed(named, pix)]);
}

/** @throws OperatorRefused the money's id names no account, or it must not be credited */
function ofNamed({ facts, incident }: Case): { named: NamedOwner } & PixOfNamed {
  const { named, reference, connection } = facts;
  const { cents: amountCents, at } = suspendedOf(facts);
  if (named === null || reference === null) throw new OperatorRefused('no payment has posted this Pix');
  if (named.problem !== null) throw new OperatorRefused(named.problem);
  if (amountCents <= 0 || amountCents !== incident.amountCents)
    throw new OperatorRefused('only money that came in is credited to the account that its id names');
  return { named, pix: pixOf(reference), amountCents, at, connection };
}

type PixOfNamed = Pick<OwedCredit, 'pix' | 'amountCents' | 'at' | 'connection'>;

/**
 * Money that came in for a payment which a restore has lost goes to the account that the payment's id names, under the id and the Pix: should the
 * merchant's repeat bring the payment back, it finds the Pix posted.
 */
function creditOfNamed({ subject, operation }: NamedOwner, pix: PixOfNamed): Posting {
  if (operation === null) throw new OperatorRefused('the account has no live main operation');
  return creditPosting(operation, { ...pix, subject });
}

/** The same posting in whichever cell the account is. */
export const creditPosting = (
  chain: ChainKey,
  { subject, pix, amountCents, at, connection }: PixOfNamed & Pick<OwedCredit, 'subject'>,
): Posting => ({
  chain,
  subject,
  event: eventKinds.resolution,
  reference: pix,
  movement: { kind: 'credit', amountCents, feeCents: 0 },
  effectiveAt: at,
  connection,
});

function takeCredited(one: Case): Ending {
  const { account, own, suspended } = one.facts;
  if (!own || !suspended) throw unfit(one);
  const { cents } = suspendedOf(one.facts);
  const takenCents = Math.min(-cents, suspended.creditedCents);
  if (takenCents <= 0) throw new OperatorRefused('no operation was credited with this money: `writeoff`');
  const taken = post(one, own, { kind: 'debitToSuspense', amountCents: takenCents });
  const rest = (amountCents: number) => post(one, account, { kind: 'writeOff', amountCents }, ':back');
  return posted(one.facts, takenCents === -cents ? [taken] : [taken, rest(cents + takenCents)]);
}

function waiveOwed(one: Case): Ending {
  const own = ownOf(one);
  const amountCents = Math.min(one.facts.receivableCents, one.incident.amountCents);
  if (amountCents === 0) throw new OperatorRefused('nothing of it is owed any more');
  return posted(one.facts, [post(one, own, { kind: 'waiveDebt', amountCents })]);
}

// ------------------------------------------------------------------------------- payments that the provider reports otherwise

const expire = (one: Case): Ending => expired(one.facts, paymentOf(one), []);

const completeAsAsked = (one: Case): Ending => complete(one, paymentOf(one));

function cancelAtOurCost(one: Case): Ending {
  const cancelled = cancel(one);
  return { ...cancelled, postings: [...cancelled.postings, ...bear(one, one.incident.amountCents)] };
}

const bearReported = (one: Case): Ending => posted(one.facts, bear(one, one.incident.amountCents));

function takeReported(one: Case): Ending {
  const [payment, own] = [paymentOf(one), ownOf(one)];
  const reported = one.incident.amountCents;
  const netCents = Math.min(reported, netOf(payment));
  const recover = post(one, own, { kind: 'debitLateCompletion', netCents, feeCents: payment.feeCents });
  return posted(one.facts, [recover, ...bear(one, reported - netCents, ':above')]);
}

/** The transfer left with the reported amount. */
function completeAsReported(one: Case): Ending {
  const transfer = paymentOf(one);
  const completed = complete(one, transfer);
  const { payment, postings, events } = completed;
  const amountCents = netOf(transfer) - one.incident.amountCents;
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

function takeCompleted(one: Case): Ending {
  const payment = paymentOf(one);
  const movement = {
    kind: 'debitLateCompletion',
    netCents: netOf(payment),
    feeCents: payment.feeCents,
  } as const;
  return posted(one.facts, [post(one, ownOf(one), movement)]);
}

const bearContradicted = (one: Case): Ending => borneBySide(one, one.incident.amountCents);

function creditReturned(one: Case): Ending {
  const { facts, incident } = one;
  const { amountCents } = incident;
  if (!isBorneByOperation(one))
    throw new OperatorRefused(
      'no decision has taken this money from the operation: decide about its completion first, or `writeoff`',
    );
  return posted(facts, [post(one, ownOrHeirOf(one), { kind: 'return', amountCents })]);
}

function keepReturned(one: Case): Ending {
  if (isBorneByOperation(one))
    throw new OperatorRefused('a decision has taken this money from the operation: `credit`');
  return borneBySide(one, -one.incident.amountCents);
}

/** The side that bore the money that left gets what came back of it. */
const isBorneByOperation = ({ facts, incident: { amountCents } }: Case): boolean =>
  facts.borneCents >= amountCents;

function borneBySide(one: Case, amountCents: number): Ending {
  const { own, account } = one.facts;
  return posted(one.facts, [post(one, own ?? account, { kind: 'bookLoss', amountCents })]);
}

function creditRefused(one: Case): Ending {
  const payment = paymentOf(one);
  const { feeCents } = payment;
  const netCents = netOf(payment) - payment.returnedCents;
  if (netCents === 0) throw unfit(one);
  return posted(one.facts, [post(one, ownOrHeirOf(one), { kind: 'creditNeverLeft', netCents, feeCents })]);
}

// --------------------------------------------------------------------------------------------------- refunds and returns to payers

/** The refund with its operation. */
function refundOf(one: Case) {
  const refund = returnOf(one);
  const { amountCents, feeBackCents } = refund;
  return { refund, own: ownOf(one), amountCents, feeBackCents: Math.min(feeBackCents ?? 0, amountCents) };
}

const notCarriedOut = { type: 'refused', reason: 'cancelled_by_operator' } as const;
const carriedOut = (amountCents: number) =>
  ({ type: 'completed', amountCents, rtrId: null, settledAt: null }) as const;

function failRefund(one: Case): Ending {
  const { refund, own } = refundOf(one);
  return refundStep(one, refund, own, notCarriedOut);
}

function completeRefund(one: Case): Ending {
  const { refund, own, amountCents } = refundOf(one);
  const reported = one.incident.amountCents;
  const completed = refundStep(one, refund, own, carriedOut(amountCents));
  const back: Posting[] =
    reported < amountCents
      ? [post(one, own, { kind: 'creditNeverLeft', netCents: amountCents - reported, feeCents: 0 })]
      : bear(one, reported - amountCents);
  return { ...completed, postings: [...completed.postings, ...back] };
}

function creditRefunded(one: Case): Ending {
  const { own, amountCents, feeBackCents } = refundOf(one);
  return posted(one.facts, [
    post(one, own, { kind: 'creditNeverLeft', netCents: amountCents, feeCents: -feeBackCents }),
  ]);
}

function takeRefunded(one: Case): Ending {
  const { own, amountCents, feeBackCents } = refundOf(one);
  const reported = one.incident.amountCents;
  const netCents = Math.min(reported, amountCents);
  const feeCents = -Math.min(feeBackCents, netCents);
  const recover = post(one, own, { kind: 'debitLateCompletion', netCents, feeCents });
  return posted(one.facts, [recover, ...bear(one, reported - netCents, ':above')]);
}

/** Our loss, or below zero ours. */
const lost = (one: Case, amountCents: number): Posting[] =>
  amountCents === 0 ? [] : [post(one, one.facts.account, { kind: 'bookLoss', amountCents })];

const failReturn = (one: Case): Ending => refundStep(one, returnOf(one), one.facts.account, notCarriedOut);

function completeReturn(one: Case): Ending {
  const refund = returnOf(one);
  const { amountCents } = refund;
  const completed = refundStep(one, refund, one.facts.account, carriedOut(amountCents));
  const difference = lost(one, one.incident.amountCents - amountCents);
  return { ...completed, postings: [...completed.postings, ...difference] };
}

const loseReturned = (one: Case): Ending => posted(one.facts, lost(one, one.incident.amountCents));

function creditNotReturned(one: Case): Ending {
  const { amountCents } = returnOf(one);
  return posted(one.facts, [
    post(one, one.facts.account, { kind: 'bookToSuspense', amountCents }),
    post(one, ownOrHeirOf(one), { kind: 'creditBesidePayment', amountCents, feeCents: 0 }, ':claim'),
  ]);
}

const keepNotReturned = (one: Case): Ending => posted(one.facts, lost(one, -returnOf(one).amountCents));

/** A step of a refund that a person decides. */
function refundStep(one: Case, refund: Refund, own: ChainKey, event: RefundEvent): Ending {
  const { facts } = one;
  requireNotSending(facts);
  const held = !!facts.payment && isHeld(facts.payment);
  const made = nextRefund(refund, event, { now: facts.now, cause: causeOf(facts), held });
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

/** The part that an act needs. @throws OperatorRefused it is not there */
const required = <Part>(one: Case, part: Part | null | undefined): Part => {
  if (!part) throw unfit(one);
  return part;
};
const paymentOf = (one: Case): Payment => required(one, one.facts.payment);
const returnOf = (one: Case): Refund => required(one, one.facts.refund);
const ownOf = (one: Case): ChainKey => required(one, one.facts.own);
const ownOrHeirOf = (one: Case): ChainKey => required(one, one.facts.own ?? one.facts.heir);

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

const cancel = (one: Case): Ending => step(one, notCarriedOut);

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

// ------------------------------------------------------------------------------------------------------------------ the table

type Deed = (one: Case) => Ending;

/** A state in which an incident's money or payment may be, and what each action then does. */
type Subject = { is(one: Case): boolean } & { readonly [A in Case['action']]?: Deed };

const isOf = (kind: Payment['kind'], { facts: { payment } }: Case): boolean => payment?.kind === kind;
const isUnfinished = ({ facts: { payment } }: Case): boolean => isOpen(payment);
type RefundCase = 'open' | 'completed' | 'failed';
const isRefund = (status: RefundCase, { facts: { refund, own } }: Case): boolean =>
  refund?.reason === 'requested' && own !== null && caseOf(refund) === status;
const isReturn = (status: RefundCase, { facts: { refund } }: Case): boolean =>
  refund?.reason === 'odd_money' && caseOf(refund) === status;
const caseOf = (refund: Refund) => (isRefundOpen(refund) ? 'open' : refund.status);
/** `contradiction:<payment>:<what was reported>`, and for a return the provider's id of it. */
const contradictedBy = ({ facts, incident }: Case): string | undefined =>
  facts.payment && incident.reference.split(':')[2];

// R to the operation, less the fee where the money makes the charge `paid`. R is ours otherwise.
const received: Subject = { is: () => true, credit: creditReceived, writeoff: keepReceived };
const receivedOfCharge: Subject = { ...received, return: returnToPayer };

/**
 * A payment of ours has posted the same Pix since, or the money's id names an account, of a payment that is not here or a charge that is here on another
 * connection. Else it is ours, or our loss.
 */
const unmatched: Subject = { is: () => true, credit: creditUnmatched, writeoff: keepSuspended };

/** R < 0: taken from the operation, at most what of it had been credited there; the rest is our loss. */
const debitOfSuspended: Subject = {
  is: ({ facts }) => facts.suspended !== undefined,
  debit: takeCredited,
  writeoff: keepSuspended,
};
/** It was taken from the merchant already: what is still owed of it is waived. */
const debitOfMerchant: Subject = { is: ({ facts }) => facts.suspended === undefined, writeoff: waiveOwed };

const openCharge: Subject = {
  is: (one) => isOf('deposit', one) && isUnfinished(one),
  writeoff: cancel,
};
/** A later payment of it opens a new incident. */
const mismatchedCharge: Subject = { ...openCharge, writeoff: expire };

const openTransfer: Subject = {
  is: (one) => isOf('transfer', one) && isUnfinished(one),
  credit: cancel,
  debit: completeAsAsked,
};
/** Left: N − X comes back as a return, what X is above N is our loss, since the merchant agreed to G. */
const mismatchedTransfer: Subject = { ...openTransfer, debit: completeAsReported, writeoff: cancelAtOurCost };
/** X and f are taken, at most G in all; above that our loss. */
const cancelledTransfer: Subject = {
  is: (one) => isOf('transfer', one) && one.facts.payment?.status === 'cancelled',
  debit: takeReported,
  writeoff: bearReported,
};

/** Cancelled, then completed: N and f are taken, what is missing becomes a debt. The state of a contradicted payment stays. */
const thenCompleted: Subject = {
  is: (one) => contradictedBy(one) === 'completed',
  debit: takeCompleted,
  writeoff: bearContradicted,
};
/** Cancelled, then returned: to the side that bore its completion. */
const thenReturned: Subject = {
  is: (one) => contradictedBy(one) === 'returned',
  credit: creditReturned,
  writeoff: keepReturned,
};
/** Completed, then refused: what had left and f come back. */
const thenRefused: Subject = {
  is: (one) => !['completed', 'returned', undefined].includes(contradictedBy(one)),
  credit: creditRefused,
};

const openRefund: Subject = {
  is: (one) => isRefund('open', one),
  credit: failRefund,
  debit: completeRefund,
};
/** It completed then: X is taken, at most its amount. */
const failedRefund: Subject = {
  is: (one) => isRefund('failed', one),
  debit: takeRefunded,
  writeoff: bearReported,
};
/** It was refused then: its amount comes back. */
const completedRefund: Subject = {
  is: (one) => isRefund('completed', one),
  credit: creditRefunded,
};

// The merchant never had the money of a return to a payer and never owes it. Failed: R stands in suspense again with an incident.
const openReturn: Subject = {
  is: (one) => isReturn('open', one),
  credit: failReturn,
  debit: completeReturn,
};
const failedReturn: Subject = {
  is: (one) => isReturn('failed', one),
  writeoff: loseReturned,
};
const completedReturn: Subject = {
  is: (one) => isReturn('completed', one),
  credit: creditNotReturned,
  writeoff: keepNotReturned,
};

/** The cases of each kind; a kind without any allows `none` alone. */
const endings: Record<IncidentCase['kind'], readonly Subject[]> = {
  amount_mismatch: [receivedOfCharge],
  second_payment: [receivedOfCharge],
  failed_charge_paid: [receivedOfCharge],
  deleted_operation: [receivedOfCharge],
  return_refused: [receivedOfCharge],
  return_exceeds: [received],
  unmatched: [unmatched],
  debit: [debitOfSuspended, debitOfMerchant],
  report_mismatch: [mismatchedCharge, mismatchedTransfer, cancelledTransfer],
  // The books stay as they are: what is missing is booked by the acts for it.
  movement_mismatch: [],
  contradiction: [thenCompleted, thenReturned, thenRefused],
  undecided: [openCharge, openTransfer],
  refund_mismatch: [openRefund, failedRefund, openReturn, failedReturn],
  refund_contradiction: [
    ...[openRefund, failedRefund, completedRefund],
    ...[openReturn, failedReturn, completedReturn],
  ],
  refund_undecided: [openRefund, openReturn],
  unreadable: [],
  divergence: [],
  close_difference: [],
  cash_missing: [],
  unread: [],
  connection_held: [],
  // `none` lets the account's withdrawals go out again.
  lost_payout: [],
  lost_time: [],
};

/** By the table above. @throws OperatorRefused an action that does not fit */
export function endingOf(incident: IncidentCase, action: Action, facts: CaseFacts): Ending {
  if (action === 'none') return posted(facts, []);
  const one: Case = { incident, action, facts };
  const deed = endings[incident.kind].find(({ is }) => is(one))?.[action];
  if (!deed) throw unfit(one);
  return deed(one);
}
