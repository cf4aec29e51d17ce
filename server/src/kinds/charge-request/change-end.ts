import { isTerminal, type Payment } from '../../money/payment.ts';
import { chargeReminders } from '../../store/rows/charge-reminders.sql.ts';
import { paymentKey } from '../../store/rows/payments.sql.ts';
import { put, type View, type Write } from '../../store/till.ts';
import { nextReminder } from '../due/reminder-times.ts';
import { type ChangeRequest, chargeChanges } from './changes.sql.ts';
import { endOf } from './charge-request.ts';

/** A change that is over, and how. */
export interface EndedChange {
  id: string;
  outcome: NonNullable<ChangeRequest['outcome']>;
}

/**
 * The end of a charge's change, in the commit in which the charge takes it over or ends, by whatever cause: from then on it is neither sent nor asked for. It
 * reads nothing for a charge without one.
 */
export function changeEndedWith(
  view: View,
  before: Payment,
  after: Payment,
  now: number,
): { writes: Write[]; ended: EndedChange | null } {
  const nothing = { writes: [], ended: null };
  const id = before.due?.change?.id;
  if (id === undefined || isTerminal(before.status)) return nothing;
  const isTaken = after.due?.change?.id !== id;
  if (!isTaken && !isTerminal(after.status)) return nothing;
  const outcome = isTaken ? 'carried_out' : 'charge_ended';
  const { accountId, updatedAt } = after;
  const writes = endOf(view, chargeChanges, accountId + id, { updatedAt, outcome });
  if (writes.length === 0) return nothing;
  return {
    writes: [...writes, ...remindedAgain(view, before, after, now)],
    ended: { id, outcome },
  };
}

/** The payer is reminded by the new due date. */
function remindedAgain(view: View, before: Payment, { accountId, id, due }: Payment, now: number): Write[] {
  if (!due?.reminders || due.dueDate === before.due?.dueDate) return [];
  const reminder = view.get(chargeReminders, paymentKey(accountId, id));
  return reminder ? [put(chargeReminders, { ...reminder, dueAt: nextReminder(due, now) })] : [];
}
