import type { Queries, Statement } from '../../ports/sql.ts';
import { defineTable, text, timestamptz, uuid } from '../database/define-table.ts';

/** An expired charge that is queried once more (table `late_query`). */
export interface LateQuery {
  accountId: string;
  paymentId: string;
  connection: string;
  /** Of the charge. */
  createdAt: number;
  dueAt: number;
}

/** After the expiry. */
export const lateAfterMs = 24 * 3_600_000;

/** Written with the expiry of a charge; what happens to a row afterwards is no money. */
export const lateQueries = defineTable<LateQuery>({
  name: 'late_query',
  alias: 'l',
  key: ['accountId', 'paymentId'],
  verbs: ['insert', 'delete'],
  keepsFirst: true,
  columns: {
    accountId: uuid,
    paymentId: uuid,
    connection: text,
    createdAt: timestamptz,
    dueAt: timestamptz,
  },
  also: { tries: '0' },
});

const time = (ms: number): string => new Date(ms).toISOString();

export type DueLate = Omit<LateQuery, 'dueAt' | 'connection'> & { tries: number };

const claim: Statement = {
  name: 'late_query_claim',
  text: `WITH k AS (
      SELECT account_id, payment_id FROM late_query WHERE connection = $1 AND due_at <= $2
      ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
    UPDATE late_query l SET due_at = $3 FROM k WHERE l.account_id = k.account_id AND l.payment_id = k.payment_id
    RETURNING l.account_id AS "accountId", l.payment_id AS "paymentId", l.created_at AS "createdAt", l.tries`,
};

/** No other process takes them before `untilMs`. */
export const claimLateQueries = (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
  most: number,
): Promise<DueLate[]> => sql.run<DueLate>(claim, [connection, time(now), time(untilMs), most]);

export const removeLateQueries = async (sql: Queries, rows: readonly DueLate[]): Promise<void> => {
  if (rows.length > 0)
    await lateQueries.remove(
      sql,
      rows.map((row) => row.accountId + row.paymentId),
    );
};

const postpone: Statement = {
  name: 'late_query_postpone',
  text: `UPDATE late_query l SET due_at = $3, tries = tries + $4 FROM unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id)
    WHERE l.account_id = k.account_id AND l.payment_id = k.payment_id`,
};

/** @param failed whether it was tried in vain */
export const postponeLateQueries = async (
  sql: Queries,
  rows: readonly DueLate[],
  dueAt: number,
  failed: boolean,
): Promise<void> => {
  if (rows.length === 0) return;
  const ids = [rows.map((row) => row.accountId), rows.map((row) => row.paymentId)];
  await sql.run(postpone, [...ids, time(dueAt), failed ? 1 : 0]);
};
