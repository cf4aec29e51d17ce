import { takenCents } from './card.ts';
import type { Movement } from './decide.ts';
import { type EventKind, eventKinds } from './journal.ts';
import type { Cause, Payment, PaymentReason } from './payment.ts';
import { type KnownReturn, returnedOf } from './returns.ts';
import type { OpenedIncident } from './state.ts';

/**
 * THE state machine of refunds: a received Pix goes back to its payer, in whole or in part.
 *
 * A refund is committed as `unknown`, with a reserve of its amount, before the provider learns of it. From then on only the provider's
 * word moves it, as with a transfer: `pending` says that the provider has it, `completed` that the payer has the money, `failed` that it
 * was refused for good, and gives the whole reserve back. "Not found" never does.
 *
 * A refund is what the merchant asks for, out of its balance; or the return of a Pix that stands in suspense (`odd_money`), which a
 * person or the account's rule sends back whole. The latter never touches an operation: its reserve stands on the account's own chain
 * and comes out of suspense. One that is refused opens an incident, since its money stands in suspense again.
 *
 * A report of another amount than asked posts nothing: it opens an incident and freezes the operation's withdrawals. A later report with
 * the right amount ends the refund all the same. A word that contradicts an ended refund does as it does for a transfer.
 */
export const refundStatuses = ['unknown', 'pending', 'completed', 'failed'] as const;
export type RefundStatus = (typeof refundStatuses)[number];

/** Whether a refund gives back its part of the charge's fee: a condition of the account. */
export const refundFees = ['kept', 'returned'] as const;
export type RefundFees = (typeof refundFees)[number];

/** Why it was made. */
export const refundReasons = ['requested', 'odd_money'] as const;
export type RefundReason = (typeof refundReasons)[number];

export interface RefundStep {
  status: RefundStatus;
  /** ISO 8601, milliseconds. */
  at: string;
  cause: Cause;
}

/** Cents are integers, instants milliseconds since 1970. */
export interface Refund {
  accountId: string;
  id: string;
  operationId: string;
  /** The charge. */
  paymentId: string;
  /** The received Pix; of a payment by card the acquirer's name of the approval. */
  endToEnd: string;
  reason: RefundReason;
  status: RefundStatus;
  amountCents: number;
  /** Of the charge's fee, what comes back to the merchant with its completion. Decided with its creation; null: the fee is kept. */
  feeBackCents: number | null;
  /** The payer reads it. */
  description: string;
  requestKey: string;
  fingerprint: Buffer;
  /** The payment system's name of the return. */
  rtrId: string | null;
  reasonCode: PaymentReason | null;
  createdAt: number;
  updatedAt: number;
  settledAt: number | null;
  history: RefundStep[];
  /** The token of the command that created it. */
  command: string;
}

type Begun = Omit<
  Refund,
  'status' | 'rtrId' | 'reasonCode' | 'createdAt' | 'updatedAt' | 'settledAt' | 'history'
>;

export const newRefund = (begun: Begun, now: number, cause: Cause): Refund => ({
  ...begun,
  status: 'unknown',
  rtrId: null,
  reasonCode: null,
  createdAt: now,
  updatedAt: now,
  settledAt: null,
  history: [{ status: 'unknown', at: new Date(now).toISOString(), cause }],
});

/** The chain that its journals and its intent stand under. */
export const chainOfRefund = ({
  accountId,
  operationId,
  reason,
}: Pick<Refund, 'accountId' | 'operationId' | 'reason'>): string =>
  reason === 'odd_money' ? accountId : operationId;

/** Providers take a return back for this long after the Pix (API Pix 2.9.0, `PixDevolucaoInvalida`). */
export const refundWindowMs = 90 * 24 * 3_600_000;

/**
 * A charge goes back in at most a hundred parts, of which the last takes all that is left, and after two hundred requests, failed ones
 * included, a person has to look. So what is read of a charge's refunds has a bound, under the lock of the till as well: R$ 2,000 in cents were
 * 200,000 refunds. Rejected: a smallest amount, which the last part would break, and which leaves 2,000 of a charge of R$ 2,000 at R$ 1.
 */
export const partsPerCharge = 100;
export const refundsPerCharge = 200;

export const isRefundOpen = ({ status }: Pick<Refund, 'status'>): boolean =>
  status === 'unknown' || status === 'pending';

/** The amount received for a paid charge; zero for every other payment. An acquirer has what it has not released yet. */
export function receivedCents(charge: Payment): number {
  const { kind, status, amountCents, card, netAmountCents, providerFeeCents } = charge;
  if (kind !== 'deposit' || status !== 'paid') return 0;
  return card === null ? (netAmountCents ?? 0) + (providerFeeCents ?? 0) : amountCents;
}

/** The fee of a charge, also where it is not taken yet. */
const feeOf = ({ card, feeCents, providerFeeCents }: Payment): number =>
  card === null ? (providerFeeCents ?? 0) : feeCents;

/** The name under which a paid charge is given back: its Pix, or the acquirer's approval. Null: it has none. */
export const paidUnder = ({ endToEnd, card }: Payment): string | null => endToEnd ?? card?.approval ?? null;

/** The amount that the provider took of a paid charge by its own word. */
export const takenOf = (charge: Payment, returns: readonly KnownReturn[]): number =>
  charge.card === null ? returnedOf(charge.endToEnd ?? '', returns) : takenCents(charge.card);

/**
 * The part of a charge's fee that comes back with one more refund of it.
 *
 * All parts together are the fee in proportion to what these refunds give back, to the nearest cent and half a cent up. So they never
 * exceed the fee, and are the fee where everything is given back. What a refund that failed would have brought is in the next one.
 * @param earlier the sums of the refunds that did not fail and give back a part of the fee
 */
export function feeBackOf(
  charge: Payment,
  earlier: { feeBasisCents: number; feeBackCents: number },
  amountCents: number,
): number {
  // Products of two amounts, which a number does not hold exactly.
  const received = BigInt(receivedCents(charge));
  const product = BigInt(feeOf(charge)) * BigInt(earlier.feeBasisCents + amountCents);
  const inAll = (2n * product + received) / (2n * received);
  return Math.max(0, Number(inAll) - earlier.feeBackCents);
}

export type RefundEvent =
  | { type: 'pending'; amountCents: number; rtrId: string | null }
  | { type: 'completed'; amountCents: number; rtrId: string | null; settledAt: number | null }
  /** `reportedCents`: what the same report says was asked; absent where there is no report, as in the answer to a send. */
  | { type: 'refused'; reason: PaymentReason; reportedCents?: number };

export type RefundEventType = 'refund.completed' | 'refund.failed' | 'charge.refunded';

export interface RefundOutcome {
  refund: Refund;
  posting: { event: EventKind; movement: Movement; effectiveAt: number } | null;
  events: RefundEventType[];
  incident: OpenedIncident | null;
  /** The further amount that its charge has given back. */
  refundedCents: number;
  /** Changes of a card payment that is not released: what was taken out of it, and of its fee what came back. */
  card: { outCents: number; feeBackCents: number } | null;
}

export interface RefundFacts {
  now: number;
  cause: Cause;
  /** Its charge was paid by card, and the acquirer has not released it. */
  held: boolean;
}

/** `refund` after `event`; null when it changes nothing. */
export function nextRefund(refund: Refund, event: RefundEvent, facts: RefundFacts): RefundOutcome | null {
  const reported = event.type === 'refused' ? event.reportedCents : event.amountCents;
  if (reported !== undefined && reported !== refund.amountCents) return mismatch(refund, reported);
  switch (event.type) {
    case 'pending':
      return refund.status === 'unknown'
        ? enter(refund, 'pending', facts, { rtrId: event.rtrId ?? refund.rtrId })
        : named(refund, event.rtrId, facts.now);
    case 'completed':
      return completed(refund, event, facts);
    case 'refused':
      return refused(refund, event, facts);
  }
}

function completed(
  refund: Refund,
  { rtrId, settledAt }: Extract<RefundEvent, { type: 'completed' }>,
  facts: RefundFacts,
): RefundOutcome | null {
  if (refund.status === 'completed') return named(refund, rtrId, facts.now);
  if (refund.status === 'failed') return contradiction(refund, 'completed');
  const { amountCents } = refund;
  const feeBackCents = refund.feeBackCents ?? 0;
  // The fee of a held payment is not taken yet: less of it is taken with the release.
  const feeCents = facts.held ? 0 : feeBackCents;
  return {
    ...enter(refund, 'completed', facts, { rtrId: rtrId ?? refund.rtrId, settledAt: facts.now }),
    posting: {
      event: eventKinds.refundComplete,
      movement: { kind: 'refundComplete', amountCents, feeCents },
      effectiveAt: settledAt ?? facts.now,
    },
    card: facts.held ? { outCents: 0, feeBackCents } : null,
    // Money in suspense never was the charge's.
    ...(refund.reason === 'odd_money'
      ? { events: ['refund.completed'] }
      : { events: ['refund.completed', 'charge.refunded'], refundedCents: amountCents }),
  };
}

function refused(
  refund: Refund,
  { reason: reasonCode }: Extract<RefundEvent, { type: 'refused' }>,
  facts: RefundFacts,
): RefundOutcome | null {
  if (refund.status === 'completed') return contradiction(refund, 'refused');
  if (refund.status === 'failed') return null;
  const { amountCents } = refund;
  const isReturn = refund.reason === 'odd_money';
  const ofHeld = facts.held ? 'cardRefundRelease' : 'refundRelease';
  return {
    ...enter(refund, 'failed', facts, { reasonCode }),
    posting: {
      event: eventKinds.refundRelease,
      movement: { kind: isReturn ? 'suspenseRelease' : ofHeld, amountCents },
      effectiveAt: facts.now,
    },
    card: facts.held ? { outCents: -amountCents, feeBackCents: 0 } : null,
    events: ['refund.failed'],
    incident: isReturn ? returnRefused(refund) : null,
  };
}

/** The provider has named it otherwise than it was known. */
function named(refund: Refund, rtrId: string | null, now: number): RefundOutcome | null {
  if (rtrId === null || refund.rtrId !== null) return null;
  return quiet({ ...refund, rtrId, updatedAt: Math.max(now, refund.updatedAt + 1) });
}

/** One incident for each amount that is reported. */
const mismatch = (refund: Refund, amountCents: number): RefundOutcome => ({
  ...quiet(refund),
  incident: {
    kind: 'refund_mismatch',
    reference: `refund_mismatch:${refund.id}:${amountCents}`,
    amountCents,
    freezes: true,
  },
});

const contradiction = (refund: Refund, reported: string): RefundOutcome => ({
  ...quiet(refund),
  incident: {
    kind: 'refund_contradiction',
    reference: `refund_contradiction:${refund.id}:${reported}`,
    amountCents: refund.amountCents,
    freezes: true,
  },
});

/** The money of the Pix stands in suspense again, and a person decides. */
const returnRefused = ({ id, amountCents }: Refund): OpenedIncident => ({
  kind: 'return_refused',
  reference: `return_refused:${id}`,
  amountCents,
  freezes: false,
});

const quiet = (refund: Refund): RefundOutcome => ({
  refund,
  posting: null,
  events: [],
  incident: null,
  refundedCents: 0,
  card: null,
});

function enter(
  refund: Refund,
  status: RefundStatus,
  { now, cause }: { now: number; cause: Cause },
  news: Partial<Refund>,
): RefundOutcome {
  const updatedAt = Math.max(now, refund.updatedAt + 1);
  const step = { status, at: new Date(updatedAt).toISOString(), cause };
  return quiet({ ...refund, ...news, status, updatedAt, history: [...refund.history, step] });
}
