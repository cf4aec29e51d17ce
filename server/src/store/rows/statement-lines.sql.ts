import type { Queries, Statement } from '../../ports/sql.ts';
import type { StatementLine } from '../../provider/provider.ts';

/** A line that is kept until it is answered (table `statement_line`). `reported`: the report of a closed day names it. */
export interface LineToAnswer extends Omit<StatementLine, 'kind' | 'amountCents'> {
  kind: StatementLine['kind'] | 'reported';
  amountCents: number | null;
}

/** A line without an answer, as operators see it. */
export interface OpenLine extends LineToAnswer {
  connection: string;
  firstSeenAt: number;
  tries: number;
  nextAt: number;
  problem: string | null;
}

const insert: Statement = {
  name: 'statement_line_insert',
  text: `INSERT INTO statement_line (connection, kind, reference, rtr_id, amount_cents, end_to_end, provider_id, moved_at,
      first_seen_at, tries, next_at, problem)
    SELECT $1, kind, reference, rtr_id, amount_cents, end_to_end, provider_id, moved_at, $9,
      CASE WHEN $11::text IS NULL THEN 0 ELSE 1 END, $10, $11
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::timestamptz[])
      AS k (kind, reference, rtr_id, amount_cents, end_to_end, provider_id, moved_at)
    ON CONFLICT DO NOTHING`,
};

const columns = `l.kind, l.reference AS id, l.rtr_id AS "rtrId", l.amount_cents AS "amountCents", l.end_to_end AS "endToEnd",
  l.provider_id AS "providerId", l.moved_at AS at`;

const claim: Statement = {
  name: 'statement_line_claim',
  text: `WITH k AS (
      SELECT connection, kind, reference FROM statement_line
      WHERE connection = $1 AND next_at <= $2
        AND NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL)
      ORDER BY next_at LIMIT $4 FOR UPDATE SKIP LOCKED)
    UPDATE statement_line l SET next_at = $3
    FROM k
    WHERE l.connection = k.connection AND l.kind = k.kind AND l.reference = k.reference
    RETURNING ${columns}, l.tries`,
};

const failed: Statement = {
  name: 'statement_line_failed',
  text: `UPDATE statement_line SET tries = tries + 1, next_at = $4, problem = $5
    WHERE connection = $1 AND kind = $2 AND reference = $3`,
};

const postpone: Statement = {
  name: 'statement_line_postpone',
  text: `UPDATE statement_line SET next_at = $4 WHERE connection = $1 AND kind = $2 AND reference = $3`,
};

const remove: Statement = {
  name: 'statement_line_remove',
  text: `DELETE FROM statement_line WHERE connection = $1 AND kind = $2 AND reference = $3
    RETURNING amount_cents AS "amountCents"`,
};

/** Lines that wait for their first look-up are not shown to operators. */
const open: Statement = {
  name: 'statement_line_open',
  text: `SELECT l.connection, ${columns}, l.first_seen_at AS "firstSeenAt", l.tries, l.next_at AS "nextAt", l.problem
    FROM statement_line l WHERE l.tries > 0 ORDER BY l.first_seen_at, l.connection, l.kind, l.reference LIMIT 1000`,
};

const time = (ms: number): string => new Date(ms).toISOString();

/**
 * Keeps lines until they are answered. A return stands under its `rtrId`, which is unique: the `id` of another Pix's return may be the
 * same, and its line would not be kept.
 * @param problem why they have no answer; null: they were not looked up yet
 */
export async function setLinesAside(
  sql: Queries,
  connection: string,
  lines: readonly LineToAnswer[],
  { now, nextAt, problem }: { now: number; nextAt: number; problem: string | null },
): Promise<void> {
  if (lines.length === 0) return;
  await sql.run(insert, [
    connection,
    lines.map((line) => line.kind),
    lines.map((line) => line.rtrId ?? line.id),
    lines.map((line) => line.rtrId),
    lines.map((line) => line.amountCents),
    lines.map((line) => line.endToEnd),
    lines.map((line) => line.providerId),
    lines.map((line) => time(line.at)),
    time(now),
    time(nextAt),
    problem,
  ]);
}

/** Lines that are due; no other process takes them before `untilMs`. None while a restore waits for its reconciliation. */
export const claimLines = (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
  most: number,
): Promise<(LineToAnswer & { tries: number })[]> =>
  sql.run(claim, [connection, time(now), time(untilMs), most]);

export const noteLineFailed = (
  sql: Queries,
  connection: string,
  { kind, id }: LineToAnswer,
  nextAt: number,
  problem: string,
): Promise<unknown> => sql.run(failed, [connection, kind, id, time(nextAt), problem]);

/** Looks the line up at `nextAt`, without counting a try. */
export const postponeLine = (
  sql: Queries,
  connection: string,
  { kind, id }: LineToAnswer,
  nextAt: number,
): Promise<unknown> => sql.run(postpone, [connection, kind, id, time(nextAt)]);

/** @returns whether the line existed */
export const removeLine = async (
  sql: Queries,
  connection: string,
  { kind, id }: Pick<LineToAnswer, 'kind' | 'id'>,
): Promise<boolean> => (await sql.run(remove, [connection, kind, id])).length > 0;

const ofReturn: Statement = {
  name: 'statement_line_of_return',
  text: `SELECT l.connection, ${columns} FROM statement_line l WHERE l.rtr_id = $1 AND l.kind IN ('returned', 'reported')`,
};

/** The lines about a return, on whatever connection. */
export const findReturnLines = (
  sql: Queries,
  rtrId: string,
): Promise<(LineToAnswer & { connection: string })[]> => sql.run(ofReturn, [rtrId]);

const returnOfPix: Statement = {
  name: 'statement_line_of_pix',
  text: `SELECT FROM statement_line l WHERE l.connection = $1 AND l.end_to_end = $2 AND l.kind IN ('debited', 'reported') LIMIT 1`,
};

/** Whether a statement or a day report names a return of a received Pix that the books do not have yet. */
export const namesReturnOf = async (sql: Queries, connection: string, endToEnd: string): Promise<boolean> =>
  (await sql.run(returnOfPix, [connection, endToEnd])).length > 0;

/** The oldest thousand of those that were looked up in vain. */
export const findOpenLines = (sql: Queries): Promise<OpenLine[]> => sql.run<OpenLine>(open);
