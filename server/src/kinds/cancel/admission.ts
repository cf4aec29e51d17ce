import { refuse } from '../../ground/errors.ts';
import { causeOfCall, type Payment } from '../../money/payment.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { put, type Read, read, type View } from '../../store/till.ts';
import type { Admission, Admitted } from '../kind.ts';
import { cancelsOfCharges } from './cancels.sql.ts';
import type { ChargeCancel } from './charge-cancel.ts';

export interface CancelOrder {
  paymentId: string;
  /** `cancelKeyOf` of the charge. */
  requestKey: string;
}

export const cancelReads = (accountId: string, { paymentId }: CancelOrder): Read[] => [
  read(payments, paymentKey(accountId, paymentId)),
];

/**
 * The charge stays as it is until its provider says otherwise; its notice and its history say that a merchant asked. Pure.
 * @throws ApiError `payment_not_found`, also of a transfer; `charge_already_paid`, `charge_already_ended`
 */
export function admitCancel(
  view: View,
  { caller, order, id, fingerprint, token }: Admission<CancelOrder>,
  now: number,
): Admitted<ChargeCancel> {
  const { accountId, operationId } = caller;
  const { paymentId } = order;
  const charge = view.get(payments, paymentKey(accountId, paymentId));
  if (charge?.operationId !== operationId || charge.kind !== 'deposit') throw refuse('payment_not_found');
  requireOpen(charge);
  const updatedAt = Math.max(now, charge.updatedAt + 1);
  const { amountCents } = charge;
  const row: ChargeCancel = {
    ...{ accountId, id, operationId, paymentId, amountCents, fingerprint, command: token },
    ...{ status: 'unknown', createdAt: now, updatedAt: now },
  };
  const cause = causeOfCall('cancel', caller);
  const step = { status: charge.status, at: new Date(updatedAt).toISOString(), cause };
  return {
    row,
    refusedAs: null,
    postings: [],
    writes: [
      put(payments, {
        ...charge,
        // A notice about money that a person decides on is more urgent.
        notice: charge.notice ?? 'cancel_requested',
        updatedAt,
        history: [...charge.history, step],
      }),
      put(cancelsOfCharges, row),
    ],
  };
}

/** @throws ApiError `charge_already_paid`, `charge_already_ended` */
export function requireOpen({ status }: Pick<Payment, 'status'>): void {
  if (status === 'paid') throw refuse('charge_already_paid');
  if (status !== 'unknown' && status !== 'pending') throw refuse('charge_already_ended');
}
