import type { Refund } from '../../money/refund.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { bytea, cents, defineTable, jsonb, text, timestamptz, uuid } from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';
import type { Derived, Readable } from '../database/table.ts';

/** 36 characters of account, 36 of refund. */
export const refundKey = (accountId: string, id: string): string => accountId + id;

/** Amount, fee, charge, operation, request key and creation never change. */
export const refunds = defineTable<Refund>({
  name: 'refund',
  alias: 'r',
  key: ['accountId', 'id'],
  tokenOf: ({ command }) => command,
  verbs: ['read', 'insert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    paymentId: uuid,
    endToEnd: text,
    reason: text,
    status: text.changes,
    amountCents: cents,
    description: text,
    requestKey: uuid,
    fingerprint: bytea,
    rtrId: text.orNull.changes,
    reasonCode: text.orNull.changes,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
    settledAt: timestamptz.orNull.changes,
    history: jsonb.changes,
    command: uuid,
    feeBackCents: cents.orNull,
  },
});

const { columns } = refunds;

const split = (keys: readonly string[]): string[][] => [
  keys.map((key) => key.slice(0, 36)),
  keys.map((key) => key.slice(36)),
];

/** The amount of a charge that cannot be refunded any more. */
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
export const refundSums: Derived<RefundSum> = {
  name: 'refund_sum',
  isDerived: true,
  keyOf: ({ accountId, paymentId }) => accountId + paymentId,
  read: (tx, keys) => tx.run<RefundSum>(sum, split(keys)),
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

/** SQL for the payment that a line `j` of the journal is about: of a refund its charge, of a hold the payment whose dispute placed it. `$1` is the account. */
export const paymentOfLine = `(CASE WHEN j.template LIKE 'refund%' OR j.template LIKE 'cardRefund%'
  THEN (SELECT r.payment_id FROM refund r WHERE r.account_id = $1 AND r.id = j.subject)
  WHEN j.template IN ('hold', 'releaseHold') THEN (SELECT w.payment_id FROM hold w WHERE w.account_id = $1 AND w.id = j.subject)
  ELSE j.subject END)`;

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

/** The fields of a refund that never change: may be read before the lock. */
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
