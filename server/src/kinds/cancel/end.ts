import { isTerminal, type Payment } from '../../money/payment.ts';
import { wasCancelAsked } from '../../money/state.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import type { View, Write } from '../../store/till.ts';
import { endOf } from '../charge-request/charge-request.ts';
import type { ChangedCharge } from '../kind.ts';
import { cancelsOfCharges, chargeCancels } from './cancels.sql.ts';

/** It reads nothing for a charge that no merchant asked to cancel. */
export const cancelOf = (view: View, charge: Payment): string | undefined =>
  wasCancelAsked(charge)
    ? view.get(cancelsOfCharges, paymentKey(charge.accountId, charge.id))?.id
    : undefined;

/**
 * The end of a charge's cancel, in the commit that ends the charge, by whatever cause. So once a charge has ended no cancel of it is sent or asked for, and
 * none waits for a person.
 */
export const cancelEndedWith = (view: View, id: string, { after }: ChangedCharge): Write[] =>
  isTerminal(after.status)
    ? endOf(view, chargeCancels, after.accountId + id, { updatedAt: after.updatedAt })
    : [];
