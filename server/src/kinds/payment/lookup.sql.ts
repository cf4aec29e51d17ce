import type { Payment } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { paymentColumns } from '../../store/rows/payments.sql.ts';
import type { ShownPayment } from './view.ts';

/** Every statement names account and operation: a payment of another operation is unknown. */
export interface Scope {
  accountId: string;
  operationId: string;
}

const selectOne: Statement = {
  name: 'payment_of_operation',
  text: `SELECT ${paymentColumns} FROM payment p WHERE p.account_id = $1 AND p.id = $2 AND p.operation_id = $3`,
};

export const findPayment = async (sql: Queries, scope: Scope, id: string): Promise<Payment | undefined> =>
  (await sql.run<Payment>(selectOne, [scope.accountId, id, scope.operationId]))[0];

/** The columns that are shown. History, wide fingerprint and sealed key are left out: they are never shown, and each costs parsing per row. */
export const shownColumns = `p.id, p.operation_id AS "operationId", p.kind, p.status, p.amount_cents AS "amountCents", p.fee_cents AS "feeCents",
  p.created_at AS "createdAt", p.updated_at AS "updatedAt", p.settled_at AS "settledAt", p.paid_at AS "paidAt",
  p.expires_at AS "expiresAt", p.copy_paste AS "copyPaste", p.end_to_end AS "endToEnd", p.notice,
  p.reason_code AS "reasonCode", p.provider_fee_cents AS "providerFeeCents", p.net_amount_cents AS "netAmountCents",
  p.request_key AS "requestKey", p.metadata, p.fiscal_documents AS "fiscalDocuments",
  p.refunded_cents AS "refundedCents", p.static_code_id AS "staticCodeId", p.payment_link_id AS "paymentLinkId", p.card, p.due,
  p.payer_document AS "payerDocument"`;

/** A subquery that gives a value is looked up by its key for each row. EXISTS may be planned as a hash of everything that is open. */
const selectMany: Statement = {
  name: 'payment_lookups',
  text: `SELECT ${shownColumns}, coalesce((SELECT i.state = 'awaiting' AND i.due_at <= $3 FROM intent i
      WHERE i.account_id = p.account_id AND i.payment_id = p.id), false) AS "queryDue"
    FROM payment p JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** A payment as shown, and whether its next query of the provider is overdue. */
export type FoundPayment = ShownPayment & { queryDue: boolean };

/** By account and id; whose operation it is has to be looked at. */
export const findPayments = (
  sql: Queries,
  wanted: readonly { accountId: string; id: string }[],
  now: number,
): Promise<FoundPayment[]> =>
  sql.run<FoundPayment>(selectMany, [
    wanted.map(({ accountId }) => accountId),
    wanted.map(({ id }) => id),
    timestamp(now),
  ]);

/**
 * The operation is compared behind OFFSET 0, a barrier to the planner. Without it the plan, made for an operation of average size, reads all
 * payments of the operation: a few, unless it is a large one.
 */
const selectByEndToEnd: Statement = {
  name: 'payment_by_end_to_end',
  text: `SELECT ${shownColumns} FROM (SELECT * FROM payment WHERE account_id = $1 AND end_to_end = $2 OFFSET 0) p
    WHERE p.operation_id = $3
    ORDER BY p.created_at DESC, p.id DESC LIMIT 100`,
};

export const findByEndToEnd = (sql: Queries, scope: Scope, endToEnd: string): Promise<ShownPayment[]> =>
  sql.run<ShownPayment>(selectByEndToEnd, [scope.accountId, endToEnd, scope.operationId]);

/** A stretch of an operation's payments by creation, both in milliseconds: at or after `from`, before `to` and below `below`. */
export interface Stretch {
  from: number | null;
  to: number | null;
  below: { createdAt: number; id: string } | null;
}

/** Before the first and after the last instant that anything here happens at. */
const earliest = '1970-01-01T00:00:00.000Z';
const latest = '9999-12-31T23:59:59.999Z';
const lowestId = '00000000-0000-0000-0000-000000000000';

/** Bounds of one end are the same instant: of two PostgreSQL may begin at the wider one, and look through everything between them in the index. */
const stretch = `p.account_id = $1 AND p.operation_id = $2 AND p.created_at >= $3 AND p.created_at <= $4
  AND (p.created_at, p.id) < ($4, $5)`;

const stretchValues = (scope: Scope, { from, to, below }: Stretch): unknown[] => {
  const isBelow = below !== null && (to === null || below.createdAt < to);
  const end = to === null ? latest : timestamp(to);
  return [
    scope.accountId,
    scope.operationId,
    from === null ? earliest : timestamp(from),
    ...(isBelow ? [timestamp(below.createdAt), below.id] : [end, lowestId]),
  ];
};

const selectPage: Statement = {
  name: 'payment_page',
  text: `SELECT ${shownColumns} FROM payment p WHERE ${stretch} ORDER BY p.created_at DESC, p.id DESC LIMIT $6`,
};

export const findPage = (
  sql: Queries,
  scope: Scope,
  within: Stretch,
  limit: number,
): Promise<ShownPayment[]> => sql.run<ShownPayment>(selectPage, [...stretchValues(scope, within), limit]);

const selectFiltered: Statement = {
  name: 'payment_page_filtered',
  text: `SELECT ${shownColumns}
    FROM (SELECT * FROM payment p WHERE ${stretch} ORDER BY p.created_at DESC, p.id DESC LIMIT $6) p
    WHERE p.kind = ANY ($7::text[]) AND p.status = ANY ($8::text[]) AND ($10::text IS NULL OR p.metadata ->> $10 = $11)
      AND ($12::text IS NULL OR (p.card IS NOT NULL) = ($12 = 'card'))
    ORDER BY p.created_at DESC, p.id DESC LIMIT $9`,
};

/** Those of the first `scanned` payments of the stretch that have one of the kinds and states, the pair and the method. */
export const findFilteredPage = (
  sql: Queries,
  scope: Scope,
  within: Stretch,
  filter: {
    kinds: readonly string[];
    statuses: readonly string[];
    pair: { name: string; value: string } | null;
    method: 'pix' | 'card' | null;
  },
  scanned: number,
  limit: number,
): Promise<ShownPayment[]> =>
  sql.run<ShownPayment>(selectFiltered, [
    ...stretchValues(scope, within),
    scanned,
    filter.kinds,
    filter.statuses,
    limit,
    filter.pair?.name ?? null,
    filter.pair?.value ?? null,
    filter.method,
  ]);

const selectPlace: Statement = {
  name: 'payment_place',
  text: `SELECT p.created_at AS "createdAt", p.id FROM payment p WHERE ${stretch}
    ORDER BY p.created_at DESC, p.id DESC OFFSET $6 LIMIT 1`,
};

/** Where the payment stands that has `offset` before it in the stretch. */
export const findPlace = async (
  sql: Queries,
  scope: Scope,
  within: Stretch,
  offset: number,
): Promise<{ createdAt: number; id: string } | undefined> =>
  (
    await sql.run<{ createdAt: number; id: string }>(selectPlace, [...stretchValues(scope, within), offset])
  )[0];
