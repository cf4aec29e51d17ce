import { isTerminal, type Payment } from '../../money/payment.ts';
import { wasCancelAsked } from '../../money/state.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import type { View, Write } from '../../store/till.ts';
import { endOf } from '../charge-request/charge-request.ts';
import { cancelsOfCharges, chargeCancels } from './cancels.sql.ts';

/**
 * The end of a charge's cancel, in the commit that ends the charge, by whatever cause. So once a charge has ended no cancel of it is sent or asked for, and
 * none waits for a person. It reads nothing for a charge that no merchant asked to cancel.
 */
export function cancelEndedWith(view: View, before: Payment, after: Payment): Write[] {
  if (isTerminal(before.status) || !isTerminal(after.status) || !wasCancelAsked(after)) return [];
  const { accountId, updatedAt } = after;
  const known = view.get(cancelsOfCharges, paymentKey(accountId, after.id));
  if (!known) return [];
  return endOf(view, chargeCancels, accountId + known.id, { updatedAt });
}
