import type { Payment } from '../../money/payment.ts';
import type { View, Write } from '../../store/till.ts';
import { cancelEndedWith } from '../cancel/end.ts';
import { changeEndedWith, type EndedChange } from '../charge-request/change-end.ts';

/** The ends of what was asked for about a charge, in the commit in which the charge takes it over or ends, by whatever cause. */
export function requestsEndedWith(
  view: View,
  before: Payment,
  after: Payment,
  now: number,
): { writes: Write[]; ended: EndedChange | null } {
  const { writes, ended } = changeEndedWith(view, before, after, now);
  return { writes: [...writes, ...cancelEndedWith(view, before, after)], ended };
}
