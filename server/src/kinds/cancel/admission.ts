import { refuse } from '../../ground/errors.ts';
import type { Payment } from '../../money/payment.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { put, type View } from '../../store/till.ts';
import { askedFor, type ChargeRequest, requestKeyOf } from '../charge-request/charge-request.ts';
import type { Admission, Admitted } from '../kind.ts';
import { cancelsOfCharges } from './cancels.sql.ts';

export interface CancelOrder {
  paymentId: string;
  /** `cancelKeyOf` of the charge. */
  requestKey: string;
}

/** A charge has one cancel, however often and from where it is asked for. A key that is made to be the same blocks nothing but this cancel. */
export const cancelKeyOf = (paymentId: string): string => requestKeyOf(`cancel:${paymentId}`);

/**
 * The charge stays as it is until its provider says otherwise; its notice and its history say that a merchant asked. Pure.
 * @throws ApiError `payment_not_found`, also of a transfer; `charge_already_paid`, `charge_already_ended`
 */
export function admitCancel(
  view: View,
  { caller, order, id, fingerprint, token }: Admission<CancelOrder>,
  now: number,
): Admitted<ChargeRequest> {
  const { accountId, operationId } = caller;
  const { paymentId } = order;
  const charge = view.get(payments, paymentKey(accountId, paymentId));
  if (charge?.operationId !== operationId || charge.kind !== 'deposit') throw refuse('payment_not_found');
  requireOpen(charge);
  const { amountCents } = charge;
  const row: ChargeRequest = {
    ...{ accountId, id, operationId, paymentId, amountCents, fingerprint, command: token },
    ...{ status: 'unknown', createdAt: now, updatedAt: now },
  };
  return {
    row,
    refusedAs: null,
    postings: [],
    writes: [
      put(payments, {
        ...charge,
        ...askedFor(charge, 'cancel', caller, now),
        // A notice about money that a person decides on is more urgent.
        notice: charge.notice ?? 'cancel_requested',
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
