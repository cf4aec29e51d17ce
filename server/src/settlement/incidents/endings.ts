import { eventKinds } from '../../ledger/journal.ts';
import type { ChainKey, Posting } from '../../ledger/till.ts';
import type { Cause, Payment, PaymentStatus } from '../../payments/payment.ts';
import {
  factsOfDecision,
  firstWord,
  next,
  type PaymentEvent,
  type PaymentEventType,
} from '../../payments/state.ts';
import type { Intent } from '../dispatch/intent.ts';
import { OperatorRefused } from '../operator/operator.ts';
import type { IncidentCase } from './incidents.sql.ts';

/**
 * How a person resolves an incident. Nothing else resolves one, nothing else ends a freeze, and money is posted once. Pure.
 *
 * R is what stands in suspense (negative: what left without an owner), G, N, f a transfer's gross, net and fee, X the reported amount.
 * *Operation* is the one that owns the payment. Where it was deleted, a `credit` goes to the account's main operation (the money is the
 * merchant's), and nothing is ever taken from another operation. A dash: refused.
 *
 * | Incident | `credit` | `debit` | `writeoff` |
 * |---|---|---|---|
 * | `amount_mismatch`, charge open or expired | R − fee to the operation (a fee above R becomes R); `paid` with that net | – | R is ours; an open charge becomes `expired` |
 * | the same, charge paid or failed by now; `second_payment`, `failed_charge_paid` | R to the operation, without a fee: it was charged once or never | – | R is ours |
 * | `return_exceeds` | R to the operation | – | R is ours |
 * | `deleted_operation`, money in | R to the main operation, less the fee where it is the payment that made the charge `paid` | – | R is ours |
 * | `deleted_operation`, money out | – | – (no other operation covers it) | our loss |
 * | `unmatched` | taken back out of suspense: a payment of ours has posted the same Pix by itself since (it must exist) | – | ours, or our loss |
 * | `debit` (already taken from the merchant) | – | – | what the merchant still owes of it is forgiven |
 * | `debit` of money that stood in suspense (R < 0) | – | taken from the operation, for when that money had been credited to it | our loss |
 * | `report_mismatch`, transfer unfinished | it did not leave: `cancelled`, reserve released | it left: `completed`; N − X comes back as a return; what X is above N is our loss, since the merchant agreed to G | X left at our cost: `cancelled`, reserve released, X our loss |
 * | `report_mismatch`, transfer cancelled | – | X and f are taken, at most G in all; above that our loss | X our loss |
 * | `report_mismatch`, charge unfinished | – | – | `expired` (a later payment of it opens a new incident) |
 * | `contradiction`: cancelled, then completed | – | N and f are taken; what is missing becomes a debt; the state stays | N our loss |
 * | `contradiction`: cancelled, then returned | X to the operation (after a `debit` of the one above) | – | X is ours (after a `writeoff` of it) |
 * | `contradiction`: completed, then refused | what had left and f come back to the operation; the state stays | – | – |
 * | `undecided`, transfer | `cancelled`, reserve released | `completed` | – |
 * | `undecided`, charge | – | – | `failed` |
 * | `unreadable` | – | – | – |
 * | `divergence` | – | – | – |
 *
 * `none` is always allowed: a person has looked, and nothing is posted. Money in suspense then stays there, with a resolved incident
 * that gives the reason; a payment that is unfinished is followed up as before (a charge that the provider calls paid stays open). Since
 * nothing was posted, one of the other actions may follow later; every other action is the last.
 *
 * When the payment has changed in the meantime (an `undecided` transfer that completed), only `none` is left.
 */
export const actions = ['credit', 'debit', 'writeoff', 'none'] as const;
export type Action = (typeof actions)[number];

export const isAction = (text: string): text is Action => (actions as readonly string[]).includes(text);

/** What is known of an incident's money and payment, read under the lock. */
export interface CaseFacts {
  now: number;
  incidentId: string;
  payment: Payment | undefined;
  intent: Intent | undefined;
  account: ChainKey;
  /** The payment's operation; null: it was deleted, or there is none. */
  own: ChainKey | null;
  /** The account's main operation. */
  heir: ChainKey | null;
  receivableCents: number;
  /** The provider's id of the money in suspense. */
  reference: string | null;
  suspended: { cents: number; at: number } | undefined;
  /** For `unmatched`: a payment has posted the same Pix. */
  claimed: boolean;
}

export interface Ending {
  payment: Payment | undefined;
  postings: Posting[];
  events: PaymentEventType[];
  /** The payment has ended: it is not followed up any more. */
  ends: boolean;
}

/** An incident, the action and the facts, with what the rules below share. */
interface Case {
  incident: IncidentCase;
  action: Exclude<Action, 'none'>;
  facts: CaseFacts;
}

/** By the table above. @throws OperatorRefused an action that does not fit */
export function endingOf(incident: IncidentCase, action: Action, facts: CaseFacts): Ending {
  if (action === 'none') return posted(facts, []);
  const one: Case = { incident, action, facts };
  switch (incident.kind) {
    case 'amount_mismatch':
    case 'second_payment':
    case 'failed_charge_paid':
    case 'return_exceeds':
    case 'deleted_operation':
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
    case 'unreadable':
    case 'divergence':
      throw unfit(one);
  }
}

function ofReceivedMoney(one: Case): Ending {
  const { incident, action, facts } = one;
  const { payment, account, own } = facts;
  const { cents, at } = suspendedOf(facts);
  if (action === 'debit') throw unfit(one);
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
  return posted(facts, [post(one, target, { kind: 'claim', amountCents: cents, feeCents })]);
}

/** The charge is paid with the amount that came. */
function paidAs(one: Case, charge: Payment, own: ChainKey, cents: number, paidAt: number): Ending {
  const { facts } = one;
  const feeCents = Math.min(charge.feeCents, cents);
  const payment = entered(charge, 'paid', facts, {
    endToEnd: facts.reference,
    paidAt,
    settledAt: facts.now,
    providerFeeCents: feeCents,
    netAmountCents: cents - feeCents,
  });
  const postings = [post(one, own, { kind: 'settle', amountCents: cents, feeCents })];
  return { payment, postings, events: [...firstWord(charge, causeOf(facts)), 'charge.paid'], ends: true };
}

function ofUnmatched(one: Case): Ending {
  const { action, facts } = one;
  const { cents } = suspendedOf(facts);
  if (action === 'writeoff')
    return posted(facts, [post(one, facts.account, { kind: 'writeOff', amountCents: cents })]);
  if (action !== 'credit') throw unfit(one);
  if (!facts.claimed) throw new OperatorRefused('no payment has posted this Pix');
  return posted(facts, [post(one, facts.account, { kind: 'suspend', amountCents: -cents })]);
}

function ofDebit(one: Case): Ending {
  const { incident, action, facts } = one;
  const { own, suspended } = facts;
  if (suspended) {
    const { cents } = suspended;
    if (action === 'writeoff')
      return posted(facts, [post(one, facts.account, { kind: 'writeOff', amountCents: cents })]);
    if (action !== 'debit' || !own) throw unfit(one);
    return posted(facts, [post(one, own, { kind: 'reclaim', amountCents: -cents })]);
  }
  const amountCents = Math.min(facts.receivableCents, incident.amountCents);
  if (action !== 'writeoff' || !own) throw unfit(one);
  if (amountCents === 0) throw new OperatorRefused('nothing of it is owed any more');
  return posted(facts, [post(one, own, { kind: 'forgive', amountCents })]);
}

function ofReportMismatch(one: Case): Ending {
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
  const recover = post(one, own, { kind: 'recover', netCents, feeCents: payment.feeCents });
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

function ofContradiction(one: Case): Ending {
  const { incident, action, facts } = one;
  const { payment, account, own } = facts;
  if (!payment) throw unfit(one);
  const { amountCents, reference } = incident;
  const { feeCents } = payment;
  const target = own ?? facts.heir;
  const borne = (cents: number) =>
    posted(facts, [post(one, own ?? account, { kind: 'bear', amountCents: cents })]);
  // `contradiction:<payment>:<what was reported>`, and for a return the provider's id of it.
  switch (reference.split(':')[2]) {
    case 'completed':
      if (action === 'writeoff') return borne(amountCents);
      if (action !== 'debit' || !own) throw unfit(one);
      return posted(facts, [post(one, own, { kind: 'recover', netCents: netOf(payment), feeCents })]);
    case 'returned':
      if (action === 'writeoff') return borne(-amountCents);
      if (action !== 'credit' || !target) throw unfit(one);
      return posted(facts, [post(one, target, { kind: 'return', amountCents })]);
    default: {
      const netCents = netOf(payment) - payment.returnedCents;
      if (action !== 'credit' || !target || netCents === 0) throw unfit(one);
      return posted(facts, [post(one, target, { kind: 'reinstate', netCents, feeCents })]);
    }
  }
}

function ofUndecided(one: Case): Ending {
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

// ------------------------------------------------------------------------------------------------------------ shared parts

const unfit = ({ incident, action }: Case): OperatorRefused =>
  new OperatorRefused(`${action} does not fit this incident (${incident.kind})`);

function suspendedOf({ suspended }: CaseFacts): { cents: number; at: number } {
  if (!suspended) throw new OperatorRefused('nothing of it stands in suspense');
  return suspended;
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
});

/** Our loss. */
const bear = (one: Case, amountCents: number, more = ''): Posting[] =>
  amountCents > 0 ? [post(one, one.facts.own ?? one.facts.account, { kind: 'bear', amountCents }, more)] : [];

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
  const { payment, own, intent, now } = one.facts;
  if (!payment || !own) throw unfit(one);
  if (intent?.state === 'sending') {
    throw new OperatorRefused('it is being sent at this moment: wait until the attempt has ended');
  }
  const made = next(payment, event, factsOfDecision(now, causeOf(one.facts)));
  if (!made) throw unfit(one);
  const postings = made.postings.map((posting) => ({ ...posting, chain: own, subject: payment.id }));
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
