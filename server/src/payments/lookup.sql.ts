import { timestamp } from '../db/pool.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import type { Payment } from './payment.ts';
import { paymentColumns } from './payments.sql.ts';

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

const selectMany: Statement = {
  name: 'payment_lookups',
  text: `SELECT ${paymentColumns}, EXISTS (SELECT FROM intent i
      WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.state = 'awaiting' AND i.due_at <= $3) AS "queryDue"
    FROM payment p JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** A payment, and whether its next query of the provider is overdue. */
export type FoundPayment = Payment & { queryDue: boolean };

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

const selectByEndToEnd: Statement = {
  name: 'payment_by_end_to_end',
  text: `SELECT ${paymentColumns} FROM payment p WHERE p.account_id = $1 AND p.end_to_end = $2 AND p.operation_id = $3
    ORDER BY p.created_at DESC, p.id DESC LIMIT 100`,
};

export const findByEndToEnd = (sql: Queries, scope: Scope, endToEnd: string): Promise<Payment[]> =>
  sql.run<Payment>(selectByEndToEnd, [scope.accountId, endToEnd, scope.operationId]);

/** A stretch of an operation's payments by creation, both in milliseconds: at or after `from`, before `to` and below `below`. */
export interface Stretch {
  from: number | null;
  to: number | null;
  below: { createdAt: number; id: string } | null;
}

/** Before the first and after the last instant that anything here happens at. */
const earliest = '1970-01-01T00:00:00.000Z';
const latest = '9999-12-31T23:59:59.999Z';
const highestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const stretch = `p.account_id = $1 AND p.operation_id = $2 AND p.created_at >= $3 AND p.created_at < $4
  AND (p.created_at, p.id) < ($5, $6)`;

const stretchValues = (scope: Scope, { from, to, below }: Stretch): unknown[] => [
  scope.accountId,
  scope.operationId,
  from === null ? earliest : timestamp(from),
  to === null ? latest : timestamp(to),
  below === null ? latest : timestamp(below.createdAt),
  below === null ? highestId : below.id,
];

const selectPage: Statement = {
  name: 'payment_page',
  text: `SELECT ${paymentColumns} FROM payment p WHERE ${stretch} ORDER BY p.created_at DESC, p.id DESC LIMIT $7`,
};

export const findPage = (sql: Queries, scope: Scope, within: Stretch, limit: number): Promise<Payment[]> =>
  sql.run<Payment>(selectPage, [...stretchValues(scope, within), limit]);

const selectFiltered: Statement = {
  name: 'payment_page_filtered',
  text: `SELECT ${paymentColumns}
    FROM (SELECT * FROM payment p WHERE ${stretch} ORDER BY p.created_at DESC, p.id DESC LIMIT $7) p
    WHERE p.kind = ANY ($8) AND p.status = ANY ($9) ORDER BY p.created_at DESC, p.id DESC LIMIT $10`,
};

/** Those of the first `scanned` payments of the stretch that have one of the kinds and states. */
export const findFilteredPage = (
  sql: Queries,
  scope: Scope,
  within: Stretch,
  filter: { kinds: readonly string[]; statuses: readonly string[] },
  scanned: number,
  limit: number,
): Promise<Payment[]> =>
  sql.run<Payment>(selectFiltered, [
    ...stretchValues(scope, within),
    scanned,
    filter.kinds,
    filter.statuses,
    limit,
  ]);

const selectPlace: Statement = {
  name: 'payment_place',
  text: `SELECT p.created_at AS "createdAt", p.id FROM payment p WHERE ${stretch}
    ORDER BY p.created_at DESC, p.id DESC OFFSET $7 LIMIT 1`,
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
