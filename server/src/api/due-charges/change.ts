import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import { refuse } from '../../ground/errors.ts';
import { requireOpen } from '../../kinds/cancel/admission.ts';
import {
  changedBy,
  changeKeyOf,
  type DueFields,
  type DuePayment,
  hasDueDate,
} from '../../kinds/due-change/admission.ts';
import { dueChange } from '../../kinds/due-change/due-change.ts';
import { findPayment } from '../../kinds/payment/lookup.sql.ts';
import { type AskedTerms, sameTerms, termsOf } from '../../money/due.ts';
import type { Payment } from '../../money/payment.ts';

/**
 * Asks the provider to change a charge with a due date, and waits for its answer as a new charge does. A charge that asks for this already is answered as it
 * stands, so a repeat is safe.
 * @returns the charge: as it was asked for, or as it was before with a notice, where the provider has not answered yet
 * @throws ApiError `payment_not_found`, also of a charge without a due date; `charge_already_paid`, `charge_already_ended`, `charge_change_refused`,
 *   `not_offered_by_provider`, those of `admitChange`, and what refuses a new charge
 */
export async function changeDueCharge(
  deps: AcceptDeps,
  caller: Caller,
  paymentId: string,
  fields: DueFields,
): Promise<Payment> {
  const charge = await findCharge(deps, caller, paymentId);
  requireOpen(charge);
  const asked = changedBy(charge, fields);
  const { change, changes = 0 } = charge.due;
  if (change ? isSame(change, asked) : isAsked(charge, asked)) return charge;
  const order = { paymentId, fields };
  await accept(deps, dueChange, caller, { ...order, requestKey: changeKeyOf(order, changes) });
  const after = await findCharge(deps, caller, paymentId);
  if (isAsked(after, asked) || (after.due.change && isSame(after.due.change, asked))) return after;
  requireOpen(after);
  throw refuse('charge_change_refused');
}

const isSame = (one: AskedTerms, other: AskedTerms): boolean =>
  one.amountCents === other.amountCents && sameTerms(one.terms, other.terms);

const isAsked = ({ amountCents, due }: DuePayment, asked: AskedTerms): boolean =>
  isSame({ amountCents, terms: termsOf(due) }, asked);

async function findCharge({ sql }: Pick<AcceptDeps, 'sql'>, caller: Caller, id: string): Promise<DuePayment> {
  const payment = await findPayment(sql, caller, id);
  if (!hasDueDate(payment)) throw refuse('payment_not_found');
  return payment;
}
