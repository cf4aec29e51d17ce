import type { LinkPage } from '../kinds/link/link-page.ts';
import { type LinkMethod, linkMethods } from '../kinds/link/methods.ts';
import type { PublicPayment, PublicRefund } from './pages.sql.ts';

/** Where a charge stands, for its payer. Pure: what the provider has said, and never a clock of ours. */
export type ChargeState =
  | 'creating'
  | 'pending'
  | 'paid'
  | 'paidTwice'
  | 'paidTwiceReturned'
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

function paidStateOf(payment: PublicPayment): ChargeState {
  const { contested, notice, receivedCents, refundedCents, secondGoesBack } = payment;
  if (contested) return 'contested';
  if (refundedCents >= receivedCents) return 'refunded';
  if (notice === 'debited') return 'takenBack';
  if (refundedCents > 0) return 'refundedPartly';
  if (notice !== 'paid_again') return 'paid';
  return secondGoesBack ? 'paidTwiceReturned' : 'paidTwice';
}

/**
 * Where a payer goes who comes back from the acquirer's page; null: to the page of the charge, which has the address of a link's own shop as a button. The way is
 * what the browser says, which never makes it paid.
 */
export function returnOf({ status, returnUrl, cancelUrl }: PublicPayment, how: string): string | null {
  if (status === 'paid') return returnUrl;
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
  const isWhole = state === 'paid' || state === 'paidTwice' || state === 'paidTwiceReturned';
  return isWhole ? 'settled' : (state as ProofState);
}

export const refundProofStateOf = ({ status }: PublicRefund): ProofState =>
  status === 'completed' ? 'settled' : 'none';

/** The reasons why a link makes no charge. */
export type ClosedLink = 'sold' | 'full' | 'expired' | 'disabled' | 'off';

/** @returns null: it makes charges */
export function closedLinkOf({
  status,
  left,
  methods,
}: Pick<LinkPage, 'status' | 'left' | 'methods'>): ClosedLink | null {
  if (status === 'completed') return 'sold';
  if (status !== 'active') return status;
  // Codes of other payers hold what is left of the stock.
  if (left === 0) return 'full';
  return methods.every(({ range }) => range === null) ? 'off' : null;
}

/**
 * How the payer of a link may pay in the place of this charge, which took no payment: by each method of the link once it ended by its provider's word, or a code whose
 * deadline there has passed. While it waits, by the other one, which takes it back first; never while an acquirer looks at an attempt. A merchant who cancelled it
 * wants no payment.
 */
export function insteadOf(payment: PublicPayment, now: number): LinkMethod[] {
  const { linkTakesPix, linkTakesCard, byCard, cardStatus, notice } = payment;
  const offered = linkMethods.filter((method) => (method === 'pix' ? linkTakesPix : linkTakesCard));
  const state = chargeStateOf(payment);
  if (state === 'expired' || state === 'failed') return offered;
  if (state !== 'pending') return [];
  if (isOver(payment, now)) return offered;
  if (notice === 'cancel_requested' || cardStatus === 'processing') return [];
  return offered.filter((method) => (method === 'card') !== byCard);
}

/** A code whose deadline at its provider has passed. */
export const isOver = ({ byCard, expiresAt }: PublicPayment, now: number): boolean =>
  !byCard && expiresAt !== null && expiresAt <= now;

/** A payment by card between its page and its end: whether the acquirer looks at an attempt, closes the page, or refused the last attempt. */
export function cardStepOf({
  byCard,
  cardStatus,
  notice,
}: PublicPayment): 'open' | 'processing' | 'closing' | 'refused' | null {
  if (!byCard) return null;
  if (cardStatus === 'processing') return 'processing';
  if (notice === 'cancel_requested') return 'closing';
  return cardStatus === 'refused' ? 'refused' : 'open';
}

/** Changes with everything that a page shows of the payment. */
export const versionOf = (payment: PublicPayment): string => `${chargeStateOf(payment)}.${payment.updatedAt}`;

/** Nothing more is expected in the next minutes. */
export const isAtRest = (state: ChargeState): boolean => state !== 'creating' && state !== 'pending';
