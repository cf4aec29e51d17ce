import type { HistoryStep, Payment, PaymentKind } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import type { Table } from '../database/table.ts';

/** The columns of a payment, for a SELECT over `payment p`. */
export const paymentColumns = `p.account_id AS "accountId", p.id, p.operation_id AS "operationId", p.kind, p.status,
  p.amount_cents AS "amountCents", p.fee_cents AS "feeCents", p.request_key AS "requestKey", p.fingerprint, p.description,
  p.payer_name AS "payerName", p.pix_key AS "pixKey", p.pix_key_type AS "pixKeyType", p.created_at AS "createdAt",
  p.updated_at AS "updatedAt", p.settled_at AS "settledAt", p.paid_at AS "paidAt", p.expires_at AS "expiresAt",
  p.copy_paste AS "copyPaste", p.end_to_end AS "endToEnd", p.notice, p.reason_code AS "reasonCode",
  p.provider_fee_cents AS "providerFeeCents", p.net_amount_cents AS "netAmountCents", p.returned_cents AS "returnedCents",
  p.refunded_cents AS "refundedCents", p.history, p.command, p.metadata, p.connection, p.receiver,
  p.disputed`;

/** A payment's place in the till: 36 characters of account, 36 of payment. */
export const paymentKey = (accountId: string, id: string): string => accountId + id;

const select: Statement = {
  name: 'payment_read',
  text: `SELECT ${paymentColumns}
    FROM payment p JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** Unnested beside each other and not in FROM, where each array is stored and read again: 6 instead of 11 µs a row before it is written. */
const insert: Statement = {
  name: 'payment_insert',
  text: `INSERT INTO payment (account_id, id, operation_id, kind, status, amount_cents, fee_cents, request_key, fingerprint,
      description, payer_name, pix_key, pix_key_type, created_at, updated_at, settled_at, paid_at, expires_at, copy_paste,
      end_to_end, notice, reason_code, provider_fee_cents, net_amount_cents, returned_cents, history, command, metadata,
      connection)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::text[]), unnest($5::text[]),
      unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::uuid[]), unnest($9::bytea[]), unnest($10::text[]),
      unnest($11::text[]), unnest($12::bytea[]), unnest($13::text[]), unnest($14::timestamptz[]),
      unnest($15::timestamptz[]), unnest($16::timestamptz[]), unnest($17::timestamptz[]),
      unnest($18::timestamptz[]), unnest($19::text[]), unnest($20::text[]), unnest($21::text[]),
      unnest($22::text[]), unnest($23::bigint[]), unnest($24::bigint[]), unnest($25::bigint[]),
      unnest($26::jsonb[]), unnest($27::uuid[]), unnest($28::jsonb[]), unnest($29::text[]))`,
};

/** Only what may change: amount, fee, operation, kind, request key and creation never do. */
const update: Statement = {
  name: 'payment_update',
  text: `UPDATE payment p SET status = k.status, updated_at = k.updated_at, settled_at = k.settled_at, paid_at = k.paid_at,
      expires_at = k.expires_at, copy_paste = k.copy_paste, end_to_end = k.end_to_end, notice = k.notice,
      reason_code = k.reason_code, provider_fee_cents = k.provider_fee_cents, net_amount_cents = k.net_amount_cents,
      returned_cents = k.returned_cents, history = k.history, connection = k.connection, refunded_cents = k.refunded_cents,
      receiver = k.receiver, disputed = k.disputed
    FROM (SELECT unnest($1::uuid[]) AS account_id, unnest($2::uuid[]) AS id, unnest($3::text[]) AS status,
        unnest($4::timestamptz[]) AS updated_at, unnest($5::timestamptz[]) AS settled_at,
        unnest($6::timestamptz[]) AS paid_at, unnest($7::timestamptz[]) AS expires_at,
        unnest($8::text[]) AS copy_paste, unnest($9::text[]) AS end_to_end, unnest($10::text[]) AS notice,
        unnest($11::text[]) AS reason_code, unnest($12::bigint[]) AS provider_fee_cents,
        unnest($13::bigint[]) AS net_amount_cents, unnest($14::bigint[]) AS returned_cents,
        unnest($15::jsonb[]) AS history, unnest($16::text[]) AS connection, unnest($17::bigint[]) AS refunded_cents,
        unnest($18::jsonb[]) AS receiver, unnest($19::boolean[]) AS disputed) AS k
    WHERE p.account_id = k.account_id AND p.id = k.id`,
};

const json = (history: HistoryStep[]): string => JSON.stringify(history);

export const payments: Table<Payment> = {
  name: 'payment',
  rank: 10,
  keyOf: (payment) => paymentKey(payment.accountId, payment.id),
  tokenOf: (payment) => payment.command,
  read: (tx, keys) =>
    tx.run<Payment>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
  write: (tx, { inserted, updated, deleted }) => {
    if (deleted.length > 0) throw new Error('a payment is never deleted');
    const writes: Promise<unknown>[] = [];
    if (inserted.length > 0) {
      writes.push(
        tx.run(insert, [
          inserted.map((payment) => payment.accountId),
          inserted.map((payment) => payment.id),
          inserted.map((payment) => payment.operationId),
          inserted.map((payment) => payment.kind),
          inserted.map((payment) => payment.status),
          inserted.map((payment) => payment.amountCents),
          inserted.map((payment) => payment.feeCents),
          inserted.map((payment) => payment.requestKey),
          inserted.map((payment) => payment.fingerprint),
          inserted.map((payment) => payment.description),
          inserted.map((payment) => payment.payerName),
          inserted.map((payment) => payment.pixKey),
          inserted.map((payment) => payment.pixKeyType),
          inserted.map((payment) => payment.createdAt),
          inserted.map((payment) => payment.updatedAt),
          inserted.map((payment) => payment.settledAt),
          inserted.map((payment) => payment.paidAt),
          inserted.map((payment) => payment.expiresAt),
          inserted.map((payment) => payment.copyPaste),
          inserted.map((payment) => payment.endToEnd),
          inserted.map((payment) => payment.notice),
          inserted.map((payment) => payment.reasonCode),
          inserted.map((payment) => payment.providerFeeCents),
          inserted.map((payment) => payment.netAmountCents),
          inserted.map((payment) => payment.returnedCents),
          inserted.map((payment) => json(payment.history)),
          inserted.map((payment) => payment.command),
          inserted.map(({ metadata }) => metadata && JSON.stringify(metadata)),
          inserted.map((payment) => payment.connection),
        ]),
      );
    }
    if (updated.length > 0) {
      writes.push(
        tx.run(update, [
          updated.map((payment) => payment.accountId),
          updated.map((payment) => payment.id),
          updated.map((payment) => payment.status),
          updated.map((payment) => payment.updatedAt),
          updated.map((payment) => payment.settledAt),
          updated.map((payment) => payment.paidAt),
          updated.map((payment) => payment.expiresAt),
          updated.map((payment) => payment.copyPaste),
          updated.map((payment) => payment.endToEnd),
          updated.map((payment) => payment.notice),
          updated.map((payment) => payment.reasonCode),
          updated.map((payment) => payment.providerFeeCents),
          updated.map((payment) => payment.netAmountCents),
          updated.map((payment) => payment.returnedCents),
          updated.map((payment) => json(payment.history)),
          updated.map((payment) => payment.connection),
          updated.map((payment) => payment.refundedCents),
          updated.map(({ receiver }) => receiver && JSON.stringify(receiver)),
          updated.map((payment) => payment.disputed),
        ]),
      );
    }
    return writes;
  },
};

/**
 * Account and id come out of one relation, which OFFSET 0 keeps whole. Rejected: the account's id from `account` and the other from the ids.
 * Of few accounts the planner expects to read all payments and intents of each once, for all ids, and reads them for every id until the
 * first ANALYZE: 555 µs for one in the first seconds of a database, 24 now.
 */
const owners: Statement = {
  name: 'payment_owners',
  text: `SELECT p.account_id AS "accountId", p.id, p.operation_id AS "operationId", p.kind, p.created_at AS "createdAt",
      p.end_to_end AS "endToEnd", i.payment_id IS NOT NULL AS followed
    FROM (SELECT a.id AS account_id, n.id, coalesce(a.first_connection, a.connection) AS connection
        FROM unnest($1::bigint[], $2::uuid[]) AS n (number, id) JOIN account a USING (number) OFFSET 0) k
      JOIN payment p ON p.account_id = k.account_id AND p.id = k.id
      LEFT JOIN intent i ON i.account_id = k.account_id AND i.payment_id = k.id
    WHERE coalesce(p.connection, k.connection) = $3`,
};

export interface PaymentOwner {
  accountId: string;
  id: string;
  /** Immutable, as kind and creation are: may be read before the lock. */
  operationId: string;
  kind: PaymentKind;
  createdAt: number;
  /** Never changes once it is known. */
  endToEnd: string | null;
  /** It is still being sent or followed. */
  followed: boolean;
}

/** Whose payments these are, for ids that came in over a provider connection; ids unknown there have no row. */
export const findOwners = (
  sql: Queries,
  connection: string,
  ids: readonly { accountNumber: number; id: string }[],
): Promise<PaymentOwner[]> =>
  sql.run<PaymentOwner>(owners, [ids.map((one) => one.accountNumber), ids.map((one) => one.id), connection]);
