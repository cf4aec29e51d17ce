import { claimOn, type PixClaims } from '../../kinds/refund/pix-claims.ts';
import { type Intent, newIntent } from '../../money/intent.ts';
import { newRefund, type Refund, refundWindowMs } from '../../money/refund.ts';
import { OperatorRefused } from '../../store/operator.ts';

/**
 * A Pix in suspense goes back to its payer: a refund with an id of its own, reserved out of suspense before it is sent. Pure.
 *
 * Its id is made from the incident's reference, so after a restore the same decision reaches the provider under the same id; what a restore
 * has lost and a reconciliation has found is among the returns of the Pix, and refuses a second one.
 */
export interface PayerReturnInput {
  refundId: string;
  fingerprint: Buffer;
  /** Of the command. */
  token: string;
}

/** The money, as it stands in suspense. */
export interface SuspendedPix {
  accountId: string;
  operationId: string;
  /** The charge under which it came in. */
  paymentId: string;
  endToEnd: string;
  amountCents: number;
  /** When it arrived, ms since 1970. */
  at: number;
  /** Over which it came in, and must go back. */
  connection: string;
  incidentId: string;
}

export interface PayerReturn {
  refund: Refund;
  /** Under the account's own chain, as the refund's journals. */
  intent: Intent;
}

/** @throws OperatorRefused the Pix is too old, went back already, or may be taken by a dispute */
export function payerReturnOf(
  { refundId, fingerprint, token }: PayerReturnInput,
  pix: SuspendedPix,
  claims: PixClaims,
  now: number,
): PayerReturn {
  if (now > pix.at + refundWindowMs)
    throw new OperatorRefused('the Pix is older than 90 days: the provider takes no return of it any more');
  const claim = claimOn(pix.endToEnd, claims);
  if (claim !== null) throw new OperatorRefused(claim);
  const { accountId, operationId, paymentId, endToEnd, amountCents, connection, incidentId } = pix;
  const begun = {
    accountId,
    id: refundId,
    operationId,
    paymentId,
    endToEnd,
    reason: 'odd_money' as const,
    amountCents,
    feeBackCents: null,
    description: '',
    requestKey: incidentId,
    fingerprint,
    command: token,
  };
  const own = { accountId, paymentId: refundId, operationId: accountId };
  const intent = newIntent({ ...own, connection, kind: 'refund', fence: token }, now);
  return { refund: newRefund(begun, now, { by: 'operator', id: incidentId }), intent };
}
