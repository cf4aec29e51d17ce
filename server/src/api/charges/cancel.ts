import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { cancelKeyOf, requireOpen } from '../../kinds/cancel/admission.ts';
import { cancel } from '../../kinds/cancel/cancel.ts';
import { findPayment } from '../../kinds/payment/lookup.sql.ts';
import type { Payment } from '../../money/payment.ts';
import { wasCancelAsked } from '../../money/state.ts';

/**
 * Asks the provider to take a charge back, and waits for its answer as a new charge does. What the caller gets depends on the charge alone, so a repeat
 * is answered as the first call would be now.
 * @returns the charge as it stands: `failed` with the reason `cancelled_by_merchant`, or `expired` where it is paid by card; or `pending`, or `unknown` where the provider has not
 *   confirmed it yet, with a notice, and its provider decides
 * @throws ApiError `payment_not_found`, `charge_already_paid`, `charge_already_ended`, `not_offered_by_provider`, and what refuses a new charge
 */
export async function cancelCharge(deps: AcceptDeps, caller: Caller, paymentId: string): Promise<Payment> {
  // An id of nothing costs no transaction.
  await findCharge(deps, caller, paymentId);
  await accept(deps, cancel, caller, { paymentId, requestKey: cancelKeyOf(paymentId) });
  const charge = await findCharge(deps, caller, paymentId);
  if (!isTakenBack(charge)) requireOpen(charge);
  return charge;
}

/**
 * Closes the page of a payment by card: a cancel, whose charge is `expired` once its acquirer has closed the page.
 * @throws ApiError as `cancelCharge`; `payment_not_found` also of a charge that is not paid by card
 */
export async function expireCheckout(deps: AcceptDeps, caller: Caller, paymentId: string): Promise<Payment> {
  if ((await findCharge(deps, caller, paymentId)).card === null) throw refuse('payment_not_found');
  return cancelCharge(deps, caller, paymentId);
}

/** It has ended as it was asked to: an acquirer's page that is closed has expired. */
const isTakenBack = (charge: Payment): boolean =>
  charge.card === null
    ? charge.reasonCode === 'cancelled_by_merchant'
    : charge.status === 'expired' && wasCancelAsked(charge);

async function findCharge({ sql }: Pick<AcceptDeps, 'sql'>, caller: Caller, id: string): Promise<Payment> {
  const payment = await findPayment(sql, caller, id);
  if (payment?.kind !== 'deposit') throw refuse('payment_not_found');
  return payment;
}
