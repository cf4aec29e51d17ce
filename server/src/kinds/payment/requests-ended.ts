import type { Payment } from '../../money/payment.ts';
import { wasCancelAsked } from '../../money/state.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import type { View, Write } from '../../store/till.ts';
import { cancelsOfCharges } from '../cancel/cancels.sql.ts';
import { cancelEndedWith } from '../cancel/end.ts';
import { changeEndedWith, type EndedChange } from '../charge-request/change-end.ts';
import { confirmedWrites } from '../charge-request/charge-request.ts';

/**
 * The ends of what was asked for about a charge, in the commit in which the charge takes it over or ends, by whatever cause. Where the charge is confirmed,
 * what waited for that goes out.
 */
export function requestsEndedWith(
  view: View,
  before: Payment,
  after: Payment,
  now: number,
): { writes: Write[]; ended: EndedChange | null } {
  const { writes, ended } = changeEndedWith(view, before, after, now);
  const over = [...writes, ...cancelEndedWith(view, before, after)];
  const isConfirmed = before.status === 'unknown' && after.status === 'pending';
  return { writes: isConfirmed ? [...over, ...broughtForwardWith(view, after, now)] : over, ended };
}

/** A change that the confirmation has carried out is over already. */
function broughtForwardWith(view: View, charge: Payment, now: number): Write[] {
  const { accountId, id, due } = charge;
  const cancel = wasCancelAsked(charge) ? view.get(cancelsOfCharges, paymentKey(accountId, id)) : undefined;
  return [due?.change?.id, cancel?.id].flatMap((request) =>
    request === undefined ? [] : confirmedWrites(view, accountId, request, now),
  );
}
