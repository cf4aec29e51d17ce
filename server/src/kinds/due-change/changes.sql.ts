import { defineTable, text } from '../../store/database/define-table.ts';
import type { Table } from '../../store/database/table.ts';
import { type ChargeRequest, requestColumns, requestTable } from '../charge-request/charge-request.ts';
import type { EndedChange } from '../payment/payment-events.ts';

/** A change is open until the provider shows the charge so, has refused it, or the charge has ended. `amountCents` is that of the charge after it. */
export interface ChangeRequest extends ChargeRequest {
  /** `charge_ended`: its charge was paid or ended as it was. Null: it is open, or it ended before this was stored. */
  outcome: EndedChange['outcome'] | null;
}

export const chargeChanges: Table<ChangeRequest> = defineTable<ChangeRequest>({
  ...requestTable,
  name: 'due_change',
  columns: { ...requestColumns, outcome: text.orNull.changes },
});
