import { isTerminal, type Payment } from '../../money/payment.ts';
import { chargeReminders } from '../../store/rows/charge-reminders.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { put, type View, type Write } from '../../store/till.ts';
import { endOf } from '../charge-request/charge-request.ts';
import { nextReminder } from '../due/reminder-times.ts';
import type { Announced, ChangedCharge } from '../kind.ts';
import { changedEvent } from '../payment/payment-events.ts';
import { chargeChanges } from './changes.sql.ts';

/**
 * The end of a charge's change, in the commit in which the charge takes it over or ends, by whatever cause: from then on it is neither sent nor asked for.
 */
export function changeEndedWith(
  view: View,
  id: string,
  { before, after }: ChangedCharge,
  { ids, livemode, silent }: Announced,
  now: number,
): Write[] {
  const isTaken = after.due?.change?.id !== id;
  if (!isTaken && !isTerminal(after.status)) return [];
  const outcome = isTaken ? 'carried_out' : 'charge_ended';
  const { accountId, updatedAt } = after;
  const writes = endOf(view, chargeChanges, accountId + id, { updatedAt, outcome });
  if (writes.length === 0) return [];
  return [
    ...writes,
    ...remindedAgain(view, before, after, now),
    ...(silent ? [] : [changedEvent(ids, livemode, after, before.status, { id, outcome })]),
  ];
}

/** The payer is reminded by the new due date. */
function remindedAgain(view: View, before: Payment, { accountId, id, due }: Payment, now: number): Write[] {
  if (!due?.reminders || due.dueDate === before.due?.dueDate) return [];
  const reminder = view.get(chargeReminders, paymentKey(accountId, id));
  return reminder ? [put(chargeReminders, { ...reminder, dueAt: nextReminder(due, now) })] : [];
}
