import type { Refund } from '../../money/refund.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';
import type { Readable, Table } from '../database/table.ts';

const columns = `r.account_id AS "accountId", r.id, r.operation_id AS "operationId", r.payment_id AS "paymentId",
  r.end_to_end AS "endToEnd", r.reason, r.status, r.amount_cents AS "amountCents", r.fee_back_cents AS "feeBackCents", r.description, r.request_key AS "requestKey",
  r.fingerprint, r.rtr_id AS "rtrId", r.reason_code AS "reasonCode", r.created_at AS "createdAt", r.updated_at AS "updatedAt",
  r.settled_at AS "settledAt", r.history, r.command`;

const select: Statement = {
  name: 'refund_read',
  text: `SELECT ${columns}
    FROM refund r JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

const insert: Statement = {
  name: 'refund_insert',
  text: `INSERT INTO refund (account_id, id, operation_id, payment_id, end_to_end, reason, status, amount_cents, description,
      request_key, fingerprint, rtr_id, reason_code, created_at, updated_at, settled_at, history, command, fee_back_cents)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::uuid[]), unnest($5::text[]),
      unnest($6::text[]), unnest($7::text[]), unnest($8::bigint[]), unnest($9::text[]), unnest($10::uuid[]),
      unnest($11::bytea[]), unnest($12::text[]), unnest($13::text[]), unnest($14::timestamptz[]),
      unnest($15::timestamptz[]), unnest($16::timestamptz[]), unnest($17::jsonb[]), unnest($18::uuid[]),
      unnest($19::bigint[]))`,
};

/** Only what may change: amount, fee, charge, operation, request key and creation never do. */
const update: Statement = {
  name: 'refund_update',
  text: `UPDATE refund r SET status = k.status, rtr_id = k.rtr_id, reason_code = k.reason_code, updated_at = k.updated_at,
      settled_at = k.settled_at, history = k.history
    FROM (SELECT unnest($1::uuid[]) AS account_id, unnest($2::uuid[]) AS id, unnest($3::text[]) AS status,
        unnest($4::text[]) AS rtr_id, unnest($5::text[]) AS reason_code, unnest($6::timestamptz[]) AS updated_at,
        unnest($7::timestamptz[]) AS settled_at, unnest($8::jsonb[]) AS history) AS k
    WHERE r.account_id = k.account_id AND r.id = k.id`,
};

const split = (keys: readonly string[]): string[][] => [
  keys.map((key) => key.slice(0, 36)),
  keys.map((key) => key.slice(36)),
];

/** 36 characters of account, 36 of refund. */
export const refundKey = (accountId: string, id: string): string => accountId + id;

export const refunds: Table<Refund> = {
  name: 'refund',
  rank: 11,
  keyOf: ({ accountId, id }) => refundKey(accountId, id),
  tokenOf: ({ command }) => command,
  read: (tx, keys) => tx.run<Refund>(select, split(keys)),
  write: (tx, { inserted, updated, deleted }) => {
    if (deleted.length > 0) throw new Error('a refund is never deleted');
    return [
      ...(inserted.length > 0 ? [tx.run(insert, insertedColumns(inserted))] : []),
      ...(updated.length > 0 ? [tx.run(update, updatedColumns(updated))] : []),
    ];
  },
};

const insertedColumns = (rows: readonly Refund[]): unknown[] => [
  rows.map((row) => row.accountId),
  rows.map((row) => row.id),
  rows.map((row) => row.operationId),
  rows.map((row) => row.paymentId),
  rows.map((row) => row.endToEnd),
  rows.map((row) => row.reason),
  rows.map((row) => row.status),
  rows.map((row) => row.amountCents),
  rows.map((row) => row.description),
  rows.map((row) => row.requestKey),
  rows.map((row) => row.fingerprint),
  rows.map((row) => row.rtrId),
  rows.map((row) => row.reasonCode),
  rows.map((row) => row.createdAt),
  rows.map((row) => row.updatedAt),
  rows.map((row) => row.settledAt),
  rows.map((row) => JSON.stringify(row.history)),
  rows.map((row) => row.command),
  rows.map((row) => row.feeBackCents),
];

const updatedColumns = (rows: readonly Refund[]): unknown[] => [
  rows.map((row) => row.accountId),
  rows.map((row) => row.id),
  rows.map((row) => row.status),
  rows.map((row) => row.rtrId),
  rows.map((row) => row.reasonCode),
  rows.map((row) => row.updatedAt),
  rows.map((row) => row.settledAt),
  rows.map((row) => JSON.stringify(row.history)),
];

/** What of a charge is not there to be refunded any more. */
export interface RefundSum {
  accountId: string;
  paymentId: string;
  /** Refunds that did not fail, and what the provider may still take by a dispute. What it took is with the known returns. */
  takenCents: number;
  /** Of refunds that did not fail and give back a part of the charge's fee: their amounts, and these parts. */
  feeBasisCents: number;
  feeBackCents: number;
  /** Refunds that were asked for: those that did not fail, and all. */
  parts: number;
  requests: number;
  /** Over which the Pix was received, and must be given back. */
  connection: string;
}

const sum: Statement = {
  name: 'refund_sum',
  text: `SELECT k.account_id AS "accountId", k.payment_id AS "paymentId",
      r.amount_cents
      + coalesce((SELECT sum(d.amount_cents - d.debited_cents) FROM dispute d
        WHERE d.account_id = k.account_id AND d.payment_id = k.payment_id AND d.end_to_end = p.end_to_end
          AND d.status IN ('open', 'defending', 'accepted')), 0)::bigint AS "takenCents",
      r.fee_basis_cents AS "feeBasisCents", r.fee_back_cents AS "feeBackCents", r.parts, r.requests,
      coalesce(p.connection, (SELECT coalesce(a.first_connection, a.connection) FROM account a WHERE a.id = k.account_id)) AS connection
    FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id)
      JOIN payment p ON p.account_id = k.account_id AND p.id = k.payment_id
      CROSS JOIN LATERAL (SELECT coalesce(sum(r.amount_cents) FILTER (WHERE r.status <> 'failed'), 0)::bigint AS amount_cents,
          coalesce(sum(r.amount_cents) FILTER (WHERE r.status <> 'failed' AND r.fee_back_cents IS NOT NULL), 0)::bigint AS fee_basis_cents,
          coalesce(sum(r.fee_back_cents) FILTER (WHERE r.status <> 'failed'), 0)::bigint AS fee_back_cents,
          (count(*) FILTER (WHERE r.status <> 'failed'))::integer AS parts, count(*)::integer AS requests
        FROM refund r
        WHERE r.account_id = k.account_id AND r.payment_id = k.payment_id AND r.reason = 'requested') r`,
};

/**
 * By charge, from at most `refundsPerCharge` rows. Put beside every refund that is made, so that a later command of the same flush sees it; what is stored is the refund
 * itself.
 */
export const refundSums: Table<RefundSum> = {
  name: 'refund_sum',
  rank: 11,
  keyOf: ({ accountId, paymentId }) => accountId + paymentId,
  read: (tx, keys) => tx.run<RefundSum>(sum, split(keys)),
  write: () => [],
};

export interface RefundsOfPayment {
  accountId: string;
  paymentId: string;
  refunds: Refund[];
}

const selectOfPayment: Statement = {
  name: 'refund_of_payment',
  text: `SELECT ${columns}
    FROM refund r JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
    ORDER BY r.created_at, r.id`,
};

/** All refunds of a charge, by charge. */
export const refundsOfPayment: Readable<RefundsOfPayment> = {
  name: 'refund_of_payment',
  keyOf: ({ accountId, paymentId }) => accountId + paymentId,
  read: async (tx, keys) => {
    const rows = await tx.run<Refund>(selectOfPayment, split(keys));
    const groups = Map.groupBy(rows, (row) => row.accountId + row.paymentId);
    return [...groups.values()].map((group) => {
      const { accountId, paymentId } = group[0] as Refund;
      return { accountId, paymentId, refunds: group };
    });
  },
};

const selectOne: Statement = {
  name: 'refund_of_operation',
  text: `SELECT ${columns} FROM refund r WHERE r.account_id = $1 AND r.id = $2 AND r.operation_id = $3`,
};

/** SQL for the payment that a line `j` of the journal is about: of a refund its charge. `$1` is the account. */
export const paymentOfLine = `(CASE WHEN j.template LIKE 'refund%'
  THEN (SELECT r.payment_id FROM refund r WHERE r.account_id = $1 AND r.id = j.subject) ELSE j.subject END)`;

export const findRefund = async (
  sql: Queries,
  { accountId, operationId }: { accountId: string; operationId: string },
  id: string,
): Promise<Refund | undefined> => (await sql.run<Refund>(selectOne, [accountId, id, operationId]))[0];

const selectPage: Statement = {
  name: 'refund_page',
  text: `SELECT ${columns} FROM refund r
    WHERE r.account_id = $1 AND r.payment_id = $2 AND (r.created_at, r.id) > ($3::timestamptz, $4::uuid)
    ORDER BY r.created_at, r.id LIMIT $5`,
};

const beforeEvery = { createdAt: 0, id: '00000000-0000-0000-0000-000000000000' };

/** Of a charge, oldest first. @param after the last one of the page before; null: from the beginning */
export const findRefundPage = (
  sql: Queries,
  { accountId, paymentId }: { accountId: string; paymentId: string },
  after: { createdAt: number; id: string } | null,
  most: number,
): Promise<Refund[]> => {
  const { createdAt, id } = after ?? beforeEvery;
  return sql.run<Refund>(selectPage, [accountId, paymentId, timestamp(createdAt), id, most]);
};

const owners: Statement = {
  name: 'refund_owners',
  text: `SELECT a.id AS "accountId", r.id, r.payment_id AS "paymentId", r.operation_id AS "operationId", r.end_to_end AS "endToEnd",
      r.reason
    FROM unnest($1::bigint[], $2::uuid[]) AS k (number, id) JOIN account a USING (number)
      JOIN refund r ON r.account_id = a.id AND r.id = k.id
      JOIN payment p ON p.account_id = r.account_id AND p.id = r.payment_id
    WHERE coalesce(p.connection, a.first_connection, a.connection) = $3`,
};

/** What of a refund never changes: may be read before the lock. */
export type RefundOwner = Pick<
  Refund,
  'accountId' | 'id' | 'paymentId' | 'operationId' | 'endToEnd' | 'reason'
>;

/** Whose refunds these are, for ids that came in over a provider connection; ids unknown there have no row. */
export const findRefundOwners = (
  sql: Queries,
  connection: string,
  ids: readonly { accountNumber: number; id: string }[],
): Promise<RefundOwner[]> =>
  sql.run<RefundOwner>(owners, [ids.map((one) => one.accountNumber), ids.map((one) => one.id), connection]);
