import type { Figures } from '../../operate/statement/figures.ts';
import type { EntrySum } from '../../operate/statement/line.ts';
import { zone } from '../../operate/statement/period.ts';
import type { Scope } from '../../operate/statement/statement.sql.ts';
import type { Queries, Statement } from '../../ports/sql.ts';

const selectClosed: Statement = {
  name: 'panel_closed_days',
  text: `SELECT to_char(c.day, 'YYYY-MM-DD') AS day, sum(c.in_cents)::bigint AS "inCents", sum(c.out_cents)::bigint AS "outCents",
      sum(c.fee_cents)::bigint AS "feeCents", sum(c.refund_cents)::bigint AS "refundCents", sum(c.hold_cents)::bigint AS "holdCents"
    FROM unnest($2::uuid[]) AS o (id) CROSS JOIN LATERAL (
      SELECT * FROM day_close WHERE account_id = $1 AND chain_id = o.id AND day >= $3::date) c
    GROUP BY c.day ORDER BY c.day`,
};

/** The closes of some operations from a day on, summed up by day. */
export const findClosedDays = (
  sql: Queries,
  accountId: string,
  operationIds: readonly string[],
  firstDay: string,
): Promise<(Figures & { day: string })[]> =>
  sql.run<Figures & { day: string }>(selectClosed, [accountId, operationIds, firstDay]);

export interface ChainHead {
  operationId: string;
  seq: number;
  /** Up to which the chain is closed. */
  closedSeq: number;
}

const selectHeads: Statement = {
  name: 'panel_chain_heads',
  text: `SELECT b.operation_id AS "operationId", b.seq, coalesce(c.closing_seq, 0) AS "closedSeq"
    FROM balance b LEFT JOIN LATERAL (SELECT l.closing_seq FROM day_close l WHERE l.account_id = b.account_id AND l.chain_id = b.operation_id
      ORDER BY l.day DESC LIMIT 1) c ON true
    WHERE b.account_id = $1 AND b.operation_id = ANY ($2::uuid[]) ORDER BY b.operation_id`,
};

export const chainHeads = (
  sql: Queries,
  accountId: string,
  operationIds: readonly string[],
): Promise<ChainHead[]> => sql.run<ChainHead>(selectHeads, [accountId, operationIds]);

/** As the statement groups its sums, and by day. */
const selectSums: Statement = {
  name: 'panel_open_day_sums',
  text: `SELECT to_char(posted_at AT TIME ZONE '${zone}', 'YYYY-MM-DD') AS day, template, sum(available)::bigint AS available,
      sum(held)::bigint AS held, sum(receivable)::bigint AS receivable, sum(fee_revenue)::bigint AS "feeRevenue"
    FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq > $3 AND seq <= $4
      AND (available <> 0 OR held <> 0 OR receivable <> 0)
    GROUP BY 1, template, sign(held), sign(fee_revenue), sign(available + receivable), sign(available + receivable + held),
      sign(available + receivable + held + fee_revenue)`,
};

export const findOpenDaySums = (
  sql: Queries,
  scope: Scope,
  afterSeq: number,
  lastSeq: number,
): Promise<(EntrySum & { day: string })[]> =>
  sql.run<EntrySum & { day: string }>(selectSums, [scope.accountId, scope.operationId, afterSeq, lastSeq]);
