import type { Statement } from '../../ports/sql.ts';
import { bytea, cents, defineTable, text, timestamptz, uuid } from '../../store/database/define-table.ts';
import type { Derived } from '../../store/database/table.ts';
import type { ChargeCancel } from './charge-cancel.ts';

/** Keyed by 36 characters of account and 36 of its own id. */
export const chargeCancels = defineTable<ChargeCancel>({
  name: 'charge_cancel',
  alias: 'c',
  key: ['accountId', 'id'],
  tokenOf: ({ command }) => command,
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    paymentId: uuid,
    status: text.changes,
    amountCents: cents,
    fingerprint: bytea,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
    command: uuid,
  },
});

/** Which cancel a charge has. */
export type CancelOfCharge = Pick<ChargeCancel, 'accountId' | 'id' | 'paymentId'>;

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
