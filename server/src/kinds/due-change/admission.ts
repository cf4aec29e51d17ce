import { refuse } from '../../ground/errors.ts';
import { type AskedTerms, changesMost, termsOf } from '../../money/due.ts';
import type { Payment } from '../../money/payment.ts';
import type { DueTerms } from '../../provider/due-terms.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { put, type View } from '../../store/till.ts';
import { requireOpen } from '../cancel/admission.ts';
import { askedFor, requestKeyOf } from '../charge-request/charge-request.ts';
import { requireDueDate, requireParts } from '../due/terms.ts';
import type { Admission, Admitted } from '../kind.ts';
import { receivedFee } from '../received-fee.ts';
import type { ChangeRequest } from './changes.sql.ts';

/** The changed members; absent ones stay. A part that is null is taken away. */
export type DueFields = Partial<DueTerms> & { amountCents?: number };

export interface ChangeOrder {
  paymentId: string;
  fields: DueFields;
  /** `changeKeyOf` of the charge. */
  requestKey: string;
}

/** A charge with a due date. */
export type DuePayment = Payment & { due: NonNullable<Payment['due']> };

export const hasDueDate = (payment: Payment | undefined): payment is DuePayment =>
  payment?.kind === 'deposit' && payment.due !== null;

/** The charge's amount and terms with these fields. */
export function changedBy({ amountCents, due }: DuePayment, fields: DueFields): AskedTerms {
  const { amountCents: asked = amountCents, ...terms } = fields;
  return { amountCents: asked, terms: { ...termsOf(due), ...terms } };
}

/** @param asked how often a change of the charge was asked for before */
export const changeKeyOf = (
  { paymentId, fields }: Pick<ChangeOrder, 'paymentId' | 'fields'>,
  asked: number,
): string => requestKeyOf(`change:${paymentId}:${asked}:${JSON.stringify(fields)}`);

/**
 * The charge stays as it is until its provider shows it otherwise; its notice and its history say that a merchant asked. Pure.
 * @throws ApiError `payment_not_found`, also of a charge without a due date; `charge_already_paid`, `charge_already_ended`, `charge_change_under_way`,
 *   `charge_changed_too_often`, `due_date_out_of_range`, `due_terms_invalid`, `amount_out_of_limits`, `amount_below_fee`
 */
export function admitChange(
  view: View,
  { caller, order, account, id, fingerprint, token }: Admission<ChangeOrder>,
  now: number,
): Admitted<ChangeRequest> {
  const { accountId, operationId } = caller;
  const { paymentId } = order;
  const charge = view.get(payments, paymentKey(accountId, paymentId));
  if (!hasDueDate(charge) || charge.operationId !== operationId) throw refuse('payment_not_found');
  requireOpen(charge);
  const { due } = charge;
  const { changes = 0 } = due;
  if (due.change) throw refuse('charge_change_under_way');
  if (changes >= changesMost) throw refuse('charge_changed_too_often');
  const change = changedBy(charge, order.fields);
  // A charge that is overdue may get another amount, and keep its day.
  if (change.terms.dueDate !== due.dueDate) requireDueDate(change.terms, now);
  requireParts(change);
  const { amountCents } = change;
  const limits = { minimumCents: account.minimumDepositCents, maximumCents: account.maximumDepositCents };
  if (amountCents !== charge.amountCents) receivedFee(amountCents, limits, due.fee);
  return {
    row: {
      ...{ accountId, id, operationId, paymentId, amountCents, fingerprint, command: token },
      ...{ status: 'unknown', outcome: null, createdAt: now, updatedAt: now },
    },
    refusedAs: null,
    postings: [],
    writes: [
      put(payments, {
        ...charge,
        ...askedFor(charge, 'change', caller, now),
        due: { ...due, change: { id, ...change }, changes: changes + 1 },
      }),
    ],
  };
}
