import type { LinkPage } from '../kinds/link/link-page.ts';
import type { PublicPayment, PublicRefund } from './pages.sql.ts';

/** Where a charge stands, for its payer. Pure: what the provider has said, and never a clock of ours. */
export type ChargeState =
  | 'creating'
  | 'pending'
  | 'paid'
  | 'paidTwice'
  | 'refundedPartly'
  | 'refunded'
  | 'contested'
  | 'takenBack'
  | 'expired'
  | 'cancelled'
  | 'failed'
  | 'review';

export function chargeStateOf(payment: PublicPayment): ChargeState {
  const { status, notice } = payment;
  if (status === 'paid') return paidStateOf(payment);
  // Money arrived for a charge that took none: a person decides.
  if (notice === 'paid_other_amount' || notice === 'paid_after_failure') return 'review';
  if (status === 'pending') return 'pending';
  if (status === 'expired') return 'expired';
  if (status === 'failed') return payment.reasonCode === 'cancelled_by_merchant' ? 'cancelled' : 'failed';
  return status === 'cancelled' ? 'cancelled' : 'creating';
}

function paidStateOf({ contested, notice, receivedCents, refundedCents }: PublicPayment): ChargeState {
  if (contested) return 'contested';
  if (refundedCents >= receivedCents) return 'refunded';
  if (notice === 'debited') return 'takenBack';
  if (refundedCents > 0) return 'refundedPartly';
  return notice === 'paid_again' ? 'paidTwice' : 'paid';
}

/**
 * Where a payer goes who comes back from the acquirer's page; null: to the page of the charge. The way is what the browser says, which never makes it
 * paid.
 */
export function returnOf({ status, successUrl, cancelUrl }: PublicPayment, how: string): string | null {
  if (status === 'paid') return successUrl;
  return how === 'cancel' || how === 'expired' ? cancelUrl : null;
}

/** The worth of a receipt today. `none`: nothing was settled. */
export type ProofState =
  | 'settled'
  | 'refundedPartly'
  | 'refunded'
  | 'returned'
  | 'contested'
  | 'takenBack'
  | 'none';

export function proofStateOf(payment: PublicPayment): ProofState {
  if (payment.kind === 'transfer') {
    if (payment.status !== 'completed') return 'none';
    return payment.notice === 'returned' || payment.returnedCents > 0 ? 'returned' : 'settled';
  }
  const state = payment.status === 'paid' ? paidStateOf(payment) : 'none';
  return state === 'paid' || state === 'paidTwice' ? 'settled' : (state as ProofState);
}

export const refundProofStateOf = ({ status }: PublicRefund): ProofState =>
  status === 'completed' ? 'settled' : 'none';

/** The reasons why a link makes no charge. */
export type ClosedLink = 'sold' | 'full' | 'expired' | 'disabled';

/** @returns null: it makes charges */
export function closedLinkOf({ status, left }: Pick<LinkPage, 'status' | 'left'>): ClosedLink | null {
  if (status === 'completed') return 'sold';
  if (status !== 'active') return status;
  // Codes of other payers hold what is left of the stock.
  return left === 0 ? 'full' : null;
}

/**
 * Whether the payer of a link may ask for another code in the place of this one: it took no payment, by the provider's word or since its deadline there
 * has passed. A merchant who cancelled it wants no payment.
 */
export function mayRenew(payment: PublicPayment, now: number): boolean {
  const state = chargeStateOf(payment);
  const isOver = payment.expiresAt !== null && payment.expiresAt <= now;
  return (
    payment.paymentLinkId !== null &&
    (state === 'expired' || state === 'failed' || (state === 'pending' && isOver))
  );
}

/** Changes with everything that a page shows of the payment. */
export const versionOf = (payment: PublicPayment): string => `${chargeStateOf(payment)}.${payment.updatedAt}`;

/** Nothing more is expected in the next minutes. */
export const isAtRest = (state: ChargeState): boolean => state !== 'creating' && state !== 'pending';
