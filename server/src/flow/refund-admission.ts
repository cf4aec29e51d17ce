import type { Caller } from '../ground/caller.ts';
import { refuse } from '../ground/errors.ts';
import { eventKinds } from '../money/journal.ts';
import { causeOfCall, type Payment, providerIdOf } from '../money/payment.ts';
import {
  feeBackOf,
  newRefund,
  partsPerCharge,
  type Refund,
  receivedCents,
  refundsPerCharge,
  refundWindowMs,
} from '../money/refund.ts';
import { returnedOf } from '../money/returns.ts';
import { sameRequest } from '../store/rows/idempotency.ts';
import { intents } from '../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../store/rows/payments.sql.ts';
import { refundKey, refundSums, refunds } from '../store/rows/refunds.sql.ts';
import { knownReturns, knownReturnsKey } from '../store/rows/returns.sql.ts';
import { clockMovesSincePaid } from '../store/rows/test-clock.sql.ts';
import { takenKeys } from '../store/rows/used-keys.sql.ts';
import { type Command, type Decision, put, read, type View } from '../store/till.ts';
import { type Admission, admissionReads, newIntent, requestKeyReads, requireAdmission } from './admission.ts';
import { breakerKey, breakerRows } from './breaker.ts';
import type { DispatchPlan } from './dispatch-plan.ts';

/**
 * The admission of a refund, as a command for the till. Pure.
 *
 * Refund (`unknown`), reserve and send intent commit together, before the first byte goes to the provider. The sum of a charge's refunds
 * is limited under the lock of its operation, which every refund of it takes. As for payments, a repeat is answered first.
 */
export interface RefundOrder {
  paymentId: string;
  /** Null: what is left. */
  amountCents: number | null;
  description: string;
  requestKey: string;
}

export interface RefundAdmissionInput {
  caller: Caller;
  order: RefundOrder;
  plan: DispatchPlan;
  /** The connection can refund. */
  offered: boolean;
  /** Also the fence of a send by this process. */
  token: string;
  refundId: string;
  /** A hash of everything that a repeat must have in common with the first request. */
  fingerprint: Buffer;
  /** This run of the command has the probe of an open breaker (`probe.ts`). */
  hasProbe: boolean;
}

export interface RefundAdmitted {
  refund: Refund;
  /** An earlier request with this key made it. */
  replayed: boolean;
  /** The fence of the send by this process; null: a worker sends. */
  fence: string | null;
  breakerOpen: boolean;
}

/** The Pix came in over another connection and goes back over it: the caller makes the plan again, for that connection. */
export interface RefundElsewhere {
  elsewhere: string;
}

/** @throws ApiError from `decide`: what refuses the order */
export function buildRefundAdmission(input: RefundAdmissionInput): Command<RefundAdmitted | RefundElsewhere> {
  const { caller, order, plan, token, refundId, hasProbe } = input;
  const { accountId, operationId } = caller;
  const ofPayment = paymentKey(accountId, order.paymentId);
  return {
    token,
    deadlineMs: plan.acceptByMs,
    chains: [{ accountId, chainId: operationId }],
    reads: [
      ...requestKeyReads(accountId, refundId, order.requestKey),
      read(refunds, refundKey(accountId, refundId)),
      read(payments, ofPayment),
      read(refundSums, ofPayment),
      read(knownReturns, knownReturnsKey(accountId, order.paymentId)),
      ...(caller.test ? [read(clockMovesSincePaid, ofPayment)] : []),
      ...admissionReads(caller, plan),
    ],
    eventRefs: [],
    decide: (view, now) => {
      const balance = view.balance({ accountId, chainId: operationId });
      if (!balance || balance.deletedAt !== null) throw refuse('operation_not_found');
      const earlier = earlierRefund(view, input);
      if (earlier) {
        const breakerOpen = view.get(breakerRows, breakerKey(plan.connection, plan.call))?.open ?? false;
        return { answer: { refund: earlier, replayed: true, fence: null, breakerOpen } };
      }
      const elsewhere = connectionOf(view, input);
      if (elsewhere !== undefined && elsewhere !== plan.connection) return { answer: { elsewhere } };
      const admission = requireAdmission(view, caller, plan, { frozen: balance.frozen, hasProbe }, now);
      return admitted(view, input, admission, now);
    },
  };
}

const connectionOf = (view: View, { caller, order }: RefundAdmissionInput): string | undefined =>
  view.get(refundSums, paymentKey(caller.accountId, order.paymentId))?.connection;

/** @throws ApiError `idempotency_conflict` when the key was used for something else */
function earlierRefund(view: View, { caller, order, refundId, fingerprint }: RefundAdmissionInput) {
  const { accountId } = caller;
  const earlier = view.get(refunds, refundKey(accountId, refundId));
  if (earlier && sameRequest(earlier.fingerprint, fingerprint)) return earlier;
  const payment = view.get(payments, paymentKey(accountId, refundId));
  if (payment) throw refuse('idempotency_conflict', { paymentId: payment.id });
  if (earlier || view.get(takenKeys, accountId + order.requestKey)) throw refuse('idempotency_conflict');
  return undefined;
}

function admitted(
  view: View,
  input: RefundAdmissionInput,
  admission: Admission,
  now: number,
): Decision<RefundAdmitted> {
  const { caller, order, plan, token, refundId, fingerprint } = input;
  const { accountId, operationId } = caller;
  const { charge, amountCents, sum } = refundable(view, input, now);
  const returnsFee = admission.account.refundFees === 'returned';
  const feeBackCents = returnsFee ? feeBackOf(charge, sum, amountCents) : null;
  const { description, requestKey, paymentId } = order;
  const begun = {
    accountId,
    id: refundId,
    operationId,
    paymentId,
    endToEnd: charge.endToEnd,
    reason: 'requested' as const,
    amountCents,
    feeBackCents,
    description,
    requestKey,
    fingerprint,
    command: token,
  };
  const refund = newRefund(begun, now, causeOfCall('api', caller));
  const intent = { accountId, id: refundId, operationId, kind: 'refund' as const };
  return {
    answer: {
      refund,
      replayed: false,
      fence: plan.leaseMs === null ? null : token,
      breakerOpen: admission.breaker?.open ?? false,
    },
    postings: [
      {
        chain: { accountId, chainId: operationId },
        subject: refundId,
        event: eventKinds.refundReserve,
        reference: '',
        effectiveAt: now,
        movement: { kind: 'refundReserve', amountCents },
      },
    ],
    writes: [
      put(refunds, refund),
      put(refundSums, {
        accountId,
        paymentId,
        takenCents: sum.takenCents + amountCents,
        feeBasisCents: sum.feeBasisCents + (returnsFee ? amountCents : 0),
        feeBackCents: sum.feeBackCents + (feeBackCents ?? 0),
        parts: sum.parts + 1,
        requests: sum.requests + 1,
        connection: plan.connection,
      }),
      put(takenKeys, { accountId, requestKey, resource: 'refund' }),
      put(intents, newIntent(view, plan, intent, token, now)),
    ],
  };
}

/**
 * @throws ApiError `payment_not_found`, `payment_not_refundable`, `refund_window_closed`, `refund_exceeds`, `refund_limit_reached`; `refund_already_booked` for one
 * that a restore has lost: its return was found at the provider and is posted as a debit, so to begin it again would post it twice
 */
function refundable(view: View, { caller, order, offered, refundId }: RefundAdmissionInput, now: number) {
  const { accountId, operationId } = caller;
  const key = paymentKey(accountId, order.paymentId);
  const charge = view.get(payments, key);
  if (!charge || charge.operationId !== operationId) throw refuse('payment_not_found');
  const received = receivedCents(charge);
  if (received === 0 || !hasPix(charge) || !offered) throw refuse('payment_not_refundable');
  // Only a test account has a clock that moves.
  const clockMovedMs = caller.test ? (view.get(clockMovesSincePaid, key)?.movedMs ?? 0) : 0;
  if (now + clockMovedMs > (charge.paidAt ?? charge.createdAt) + refundWindowMs)
    throw refuse('refund_window_closed');
  const known = view.get(knownReturns, knownReturnsKey(accountId, order.paymentId))?.returns ?? [];
  if (known.some(({ id }) => id === providerIdOf(refundId))) throw refuse('refund_already_booked');
  const sum = view.get(refundSums, key) ?? nothingTaken;
  const leftCents = received - sum.takenCents - returnedOf(charge.endToEnd, known);
  const amountCents = order.amountCents ?? leftCents;
  if (amountCents <= 0 || amountCents > leftCents)
    throw refuse('refund_exceeds', { params: { left: String(Math.max(0, leftCents)) } });
  const isLastPart = sum.parts >= partsPerCharge - 1;
  if (sum.requests >= refundsPerCharge || (isLastPart && amountCents < leftCents))
    throw refuse('refund_limit_reached', { params: { left: String(leftCents) } });
  return { charge, amountCents, sum };
}

const nothingTaken = { takenCents: 0, feeBasisCents: 0, feeBackCents: 0, parts: 0, requests: 0 };

const hasPix = (charge: Payment): charge is Payment & { endToEnd: string } => charge.endToEnd !== null;
