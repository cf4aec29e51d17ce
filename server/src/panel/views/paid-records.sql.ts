import { eventKinds } from '../../money/journal.ts';
import type { Payment } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { paymentColumns } from '../../store/rows/payments.sql.ts';
import type { DateOrder } from '../schema/marks.ts';
import {
  amountValues,
  type ByAmount,
  inEachAmountOrder,
  passes,
  passingValues,
  type RecordSearch,
} from './records.sql.ts';

const { credit, complete, cardApprove } = eventKinds;

/** The journal by which a payment moved its money: there is one at most. */
const moved = `(event IN (${credit}, ${complete}, ${cardApprove}) OR template = 'creditFromSuspense')`;

/** The payment of journal `j`, looked up behind OFFSET 0: else the planner may read all payments of the account for one page. */
const itsPayment = `CROSS JOIN LATERAL (SELECT * FROM payment p WHERE p.account_id = $1 AND p.id = j.subject OFFSET 0) p`;

const inOrder = (order: DateOrder, sort: 'ASC' | 'DESC'): Statement => ({
  name: `panel_paid_${order}`,
  text: `SELECT ${paymentColumns}, j.seq, j.posted_at AS "postedAt"
    FROM (SELECT seq, subject, posted_at FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq > $3 AND seq <= $4 AND ${moved}
        ORDER BY seq ${sort} OFFSET 0) j ${itsPayment}
    WHERE p.kind = ANY ($5::text[]) AND ${passes(6)} ORDER BY j.seq ${sort} LIMIT $11`,
});
const selectPaid = { newest: inOrder('newest', 'DESC'), oldest: inOrder('oldest', 'ASC') };

export interface PaidRow {
  seq: number;
  postedAt: number;
  payment: Payment;
}

/** Payments that moved their money in a stretch of an operation's chain, in the order of the search. */
export async function findPaid(
  sql: Queries,
  wanted: RecordSearch,
  { operationId, after, upTo }: PaidStretch,
  limit: number,
): Promise<PaidRow[]> {
  const rows = await sql.run<Payment & Omit<PaidRow, 'payment'>>(selectPaid[wanted.order], [
    ...[wanted.accountId, operationId, after, upTo, wanted.kinds],
    ...passingValues(wanted),
    limit,
  ]);
  return rows.map(({ seq, postedAt, ...payment }) => ({ seq, postedAt, payment }));
}

/** Journals of an operation: those behind `after`, up to `upTo`. */
export interface PaidStretch {
  operationId: string;
  after: number;
  upTo: number;
}

const selectByAmount = inEachAmountOrder(13, (order, isBehind, sorted) => ({
  name: `panel_paid_${order}`,
  text: `SELECT ${paymentColumns} FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS o (id, after, upto)
      CROSS JOIN LATERAL (SELECT subject FROM journal WHERE account_id = $1 AND chain_id = o.id AND seq > o.after AND seq <= o.upto AND ${moved}
        AND posted_at >= coalesce($5::timestamptz, '-infinity') OFFSET 0) j ${itsPayment}
    WHERE p.kind = ANY ($6::text[]) AND ${passes(7)} AND ${isBehind} ${sorted} LIMIT $12`,
}));

/** By amount, among those that moved their money in some stretches. @param sinceMs leaves out the earlier ones; null: none */
export const findPaidByAmount = (
  sql: Queries,
  wanted: RecordSearch,
  by: ByAmount,
  { stretches, sinceMs }: { stretches: readonly PaidStretch[]; sinceMs: number | null },
  limit: number,
): Promise<Payment[]> =>
  sql.run<Payment>(selectByAmount[by.order], [
    wanted.accountId,
    stretches.map(({ operationId }) => operationId),
    stretches.map(({ after }) => after),
    stretches.map(({ upTo }) => upTo),
    sinceMs === null ? null : timestamp(sinceMs),
    wanted.kinds,
    ...passingValues(wanted),
    limit,
    ...amountValues(by),
  ]);
