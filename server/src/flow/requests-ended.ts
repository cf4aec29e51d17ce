import { confirmedWrites } from '../kinds/charge-request/charge-request.ts';
import type { Announced } from '../kinds/kind.ts';
import { requestsAboutCharges } from '../kinds/registry/kinds.ts';
import { isTerminal, type Payment } from '../money/payment.ts';
import type { View, Write } from '../store/till.ts';

/**
 * The ends of what was asked for about a charge, in the commit in which the charge takes it over or ends, by whatever cause. Where the charge is confirmed,
 * what waited for that goes out. It reads nothing for a charge about which nothing was asked.
 */
export function requestsEndedWith(
  view: View,
  before: Payment,
  after: Payment,
  announced: Announced,
  now: number,
): Write[] {
  if (after === before || isTerminal(before.status)) return [];
  const isConfirmed = before.status === 'unknown' && after.status === 'pending';
  return requestsAboutCharges.flatMap(({ request }) => {
    const id = request.openOf(view, before);
    if (id === undefined) return [];
    const writes = request.endedWith(view, id, { before, after }, announced, now);
    // One that the confirmation has carried out is over already.
    return writes.length === 0 && isConfirmed ? confirmedWrites(view, after.accountId, id, now) : writes;
  });
}
