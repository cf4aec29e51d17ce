import { refuse } from '../../ground/errors.ts';
import { isHeld, withCard } from '../../money/card.ts';
import { eventKinds } from '../../money/journal.ts';
import { causeOfCall, providerIdOf } from '../../money/payment.ts';
import {
  feeBackOf,
  newRefund,
  paidUnder,
  partsPerCharge,
  type Refund,
  receivedCents,
  refundsPerCharge,
  refundWindowMs,
  takenOf,
} from '../../money/refund.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { refundSums } from '../../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../../store/rows/returns.sql.ts';
import { clockMovesSincePaid } from '../../store/rows/test-clock.sql.ts';
import { takenKeys } from '../../store/rows/used-keys.sql.ts';
import { put, type Read, read, type View } from '../../store/till.ts';
import type { Admission, Admitted } from '../kind.ts';

/**
 * The rules of a refund. Pure. The sum of a charge's refunds is limited under the lock of its operation, which every refund of it takes.
 */
export interface RefundOrder {
  paymentId: string;
  /** Null: what is left. */
  amountCents: number | null;
  description: string;
  requestKey: string;
}

export const refundReads = (accountId: string, { paymentId }: RefundOrder): Read[] => [
  read(payments, paymentKey(accountId, paymentId)),
  read(refundSums, paymentKey(accountId, paymentId)),
  read(knownReturns, knownReturnsKey(accountId, paymentId)),
];

/** @throws ApiError as `refundable` does */
export function admitRefund(view: View, admission: Admission<RefundOrder>, now: number): Admitted<Refund> {
  const { caller, order, account, connection, id, fingerprint, token } = admission;
  const { accountId, operationId } = caller;
  const { charge, paidAs, amountCents, sum } = refundable(view, admission, now);
  const { card } = charge;
  const returnsFee = account.refundFees === 'returned';
  const feeBackCents = returnsFee ? feeBackOf(charge, sum, amountCents) : null;
  const { description, requestKey, paymentId } = order;
  const begun = {
    accountId,
    id,
    operationId,
    paymentId,
    endToEnd: paidAs,
    reason: 'requested' as const,
    amountCents,
    feeBackCents,
    description,
    requestKey,
    fingerprint,
    command: token,
  };
  return {
    row: newRefund(begun, now, causeOfCall('api', caller)),
    refusedAs: null,
    postings: [
      {
        chain: { accountId, chainId: operationId },
        subject: id,
        event: eventKinds.refundReserve,
        reference: '',
        effectiveAt: now,
        movement: { kind: isHeld(charge) ? 'cardRefundReserve' : 'refundReserve', amountCents },
      },
    ],
    writes: [
      ...(card !== null && isHeld(charge)
        ? [put(payments, withCard(charge, { ...card, outCents: (card.outCents ?? 0) + amountCents }, now))]
        : []),
      put(refundSums, {
        accountId,
        paymentId,
        takenCents: sum.takenCents + amountCents,
        feeBasisCents: sum.feeBasisCents + (returnsFee ? amountCents : 0),
        feeBackCents: sum.feeBackCents + (feeBackCents ?? 0),
        parts: sum.parts + 1,
        requests: sum.requests + 1,
        connection,
      }),
      put(takenKeys, { accountId, requestKey, resource: 'refund' }),
    ],
  };
}

/**
 * @throws ApiError `payment_not_found`, `payment_not_refundable`, `refund_window_closed`, `refund_exceeds`, `refund_limit_reached`; `refund_already_booked` for one
 * that a restore has lost: its return was found at the provider and is posted as a debit, so to begin it again would post it twice
 */
function refundable(view: View, { caller, order, can, id: refundId }: Admission<RefundOrder>, now: number) {
  const { accountId, operationId } = caller;
  const key = paymentKey(accountId, order.paymentId);
  const charge = view.get(payments, key);
  if (!charge || charge.operationId !== operationId) throw refuse('payment_not_found');
  const received = receivedCents(charge);
  const paidAs = paidUnder(charge);
  if (received === 0 || paidAs === null || !can?.canRefund) throw refuse('payment_not_refundable');
  // Only a test account has a clock that moves, and only for one is it read.
  const clockMovedMs = caller.test ? (view.get(clockMovesSincePaid, key)?.movedMs ?? 0) : 0;
  // An acquirer has a window of its own, which its refusal says.
  const isLate = now + clockMovedMs > (charge.paidAt ?? charge.createdAt) + refundWindowMs;
  if (isLate && charge.card === null) throw refuse('refund_window_closed');
  const known = view.get(knownReturns, knownReturnsKey(accountId, order.paymentId))?.returns ?? [];
  const providerId = providerIdOf(refundId);
  if (known.some(({ id }) => id === providerId) || charge.card?.taken?.[providerId])
    throw refuse('refund_already_booked');
  const sum = view.get(refundSums, key) ?? nothingTaken;
  const leftCents = received - sum.takenCents - takenOf(charge, known);
  const amountCents = order.amountCents ?? leftCents;
  if (amountCents <= 0 || amountCents > leftCents)
    throw refuse('refund_exceeds', { params: { left: String(Math.max(0, leftCents)) } });
  const isLastPart = sum.parts >= partsPerCharge - 1;
  if (sum.requests >= refundsPerCharge || (isLastPart && amountCents < leftCents))
    throw refuse('refund_limit_reached', { params: { left: String(leftCents) } });
  return { charge, paidAs, amountCents, sum };
}

const nothingTaken = { takenCents: 0, feeBasisCents: 0, feeBackCents: 0, parts: 0, requests: 0 };
