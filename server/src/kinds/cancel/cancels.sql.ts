import type { Statement } from '../../ports/sql.ts';
import { defineTable } from '../../store/database/define-table.ts';
import type { Derived, Table } from '../../store/database/table.ts';
import { type ChargeRequest, requestColumns, requestTable } from '../charge-request/charge-request.ts';

/** A cancel is open as long as its charge is, and ends with it in one commit (`end.ts`). */
export const chargeCancels: Table<ChargeRequest> = defineTable<ChargeRequest>({
  ...requestTable,
  name: 'charge_cancel',
  columns: requestColumns,
});

/** Which cancel a charge has. */
export type CancelOfCharge = Pick<ChargeRequest, 'accountId' | 'id' | 'paymentId'>;

const select: Statement = {
  name: 'charge_cancel_of_charge',
  text: `SELECT account_id AS "accountId", id, payment_id AS "paymentId"
    FROM charge_cancel JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)`,
};

/** Keyed by 36 characters of account and 36 of the charge. Put beside a cancel, so that a later command of the same flush sees it. */
export const cancelsOfCharges: Derived<CancelOfCharge> = {
  name: 'charge_cancel_of_charge',
  isDerived: true,
  keyOf: ({ accountId, paymentId }) => accountId + paymentId,
  read: (tx, keys) =>
    tx.run<CancelOfCharge>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};
