import type { Queries, Statement } from '../ports/sql.ts';
import type { StatementLine } from '../provider/provider.ts';
import { endingTurn, endOfTurn, type Turn } from '../store/rows/jobs.sql.ts';

const begin: Statement = {
  name: 'statement_begin',
  text: `UPDATE connection SET statement_read_to = coalesce(statement_read_to, $2),
      statement_pass_at = CASE WHEN statement_read_to IS NOT NULL THEN coalesce(statement_pass_at, $2) END
    WHERE id = $1
    RETURNING statement_read_to AS "readTo", statement_pass_at AS "passAt"`,
};

const note: Statement = {
  name: 'statement_read',
  text: `WITH ended AS (${endingTurn})
    UPDATE connection c SET statement_read_to = $5, statement_pass_at = $6 FROM ended WHERE c.id = ended.subject`,
};

const beginLate: Statement = {
  name: 'statement_late_begin',
  text: `UPDATE connection SET late_read_to = coalesce(late_read_to, $3), late_pass_at = coalesce(late_pass_at, $2) WHERE id = $1
    RETURNING late_read_to AS "readTo", late_pass_at AS "passAt"`,
};

const noteLate: Statement = {
  name: 'statement_late_read',
  text: `WITH ended AS (${endingTurn})
    UPDATE connection c SET late_read_to = $5, late_pass_at = $6 FROM ended WHERE c.id = ended.subject`,
};

const beginDay: Statement = {
  name: 'report_begin',
  text: `UPDATE connection SET report_day = coalesce(report_day, $2::date) WHERE id = $1
    RETURNING to_char(report_day, 'YYYY-MM-DD') AS day, report_id AS "reportId", report_since AS since,
      report_requested_at AS "requestedAt"`,
};

const noteDay: Statement = {
  name: 'report_note',
  text: `WITH ended AS (${endingTurn})
    UPDATE connection c SET report_day = $5::date, report_id = $6, report_since = $7, report_requested_at = $8
    FROM ended WHERE c.id = ended.subject`,
};

const time = (ms: number): string => new Date(ms).toISOString();

export interface StatementPlace {
  /** Up to where the statement has been read. */
  readTo: number;
  /** When the pass that is under way began; null: this turn is the first of its connection, and nothing is read yet. */
  passAt: number | null;
}

/** From where on a turn reads the statement. */
export const beginStatement = async (
  sql: Queries,
  connection: string,
  now: number,
): Promise<StatementPlace | undefined> => (await sql.run<StatementPlace>(begin, [connection, time(now)]))[0];

/** Ends a turn: stores how far it has read, unless another process has taken the reading over. */
export const endStatement = (
  sql: Queries,
  turn: Turn,
  { readTo, passAt }: StatementPlace,
  dueAt: number,
): Promise<unknown> =>
  sql.run(note, [...endOfTurn(turn, dueAt), time(readTo), passAt === null ? null : time(passAt)]);

/** The same for the second reading of the lists, which begins at `fromMs` where none is under way. */
export const beginLateReading = async (
  sql: Queries,
  connection: string,
  now: number,
  fromMs: number,
): Promise<{ readTo: number; passAt: number } | undefined> =>
  (await sql.run<{ readTo: number; passAt: number }>(beginLate, [connection, time(now), time(fromMs)]))[0];

/** @param place null: the reading has ended */
export const endLateReading = (
  sql: Queries,
  turn: Turn,
  place: { readTo: number; passAt: number } | null,
  dueAt: number,
): Promise<unknown> =>
  sql.run(noteLate, [...endOfTurn(turn, dueAt), place && time(place.readTo), place && time(place.passAt)]);

export interface ReportPlace {
  /** `2026-11-21`, a day of the provider. */
  day: string;
  /** Null: it was not requested yet. */
  reportId: string | null;
  /** Since when this day's report has been asked for; null: it was not. */
  since: number | null;
  /** When the one of `reportId` was requested. */
  requestedAt: number | null;
}

/** Which day's report is worked on. @param firstDay where a connection begins */
export const beginReport = async (
  sql: Queries,
  connection: string,
  firstDay: string,
): Promise<ReportPlace | undefined> => (await sql.run<ReportPlace>(beginDay, [connection, firstDay]))[0];

/** Ends a turn: stores the place of the reading, unless another process has taken it over. */
export const endReport = (
  sql: Queries,
  turn: Turn,
  { day, reportId, since, requestedAt }: ReportPlace,
  dueAt: number,
): Promise<unknown> =>
  sql.run(noteDay, [
    ...endOfTurn(turn, dueAt),
    day,
    reportId,
    since === null ? null : time(since),
    requestedAt === null ? null : time(requestedAt),
  ]);

/**
 * This statement decides whether the books have what a line says. The books nearly always have it, so of thousands of lines a second
 * almost no row comes back. Rejected: to read the payments and compare them in the program (84 µs a line, this takes 10).
 */
const unknownWhere = (sameReturn: string, sameRefund: string): string => `SELECT k.n,
      p.id IS NULL OR coalesce(p.connection, a.first_connection, a.connection) <> $1 AS stray
    FROM (SELECT generate_series(0, cardinality($3::uuid[]) - 1) AS n, unnest($2::bigint[]) AS number, unnest($3::uuid[]) AS id,
        unnest($4::text[]) AS kind, unnest($5::text[]) AS reference, unnest($6::text[]) AS rtr_id, unnest($7::text[]) AS return_id,
        unnest($8::text[]) AS end_to_end, unnest($9::bigint[]) AS amount_cents) k
      JOIN account a USING (number)
      LEFT JOIN payment p ON p.account_id = a.id AND p.id = k.id
    WHERE p.id IS NULL OR coalesce(p.connection, a.first_connection, a.connection) <> $1
      OR (CASE WHEN k.kind = 'sent' THEN p.status = 'completed'
        ELSE k.kind = 'received' AND p.end_to_end = k.reference OR EXISTS (
          SELECT FROM journal j WHERE j.account_id = p.account_id AND j.subject = p.id AND j.reference = k.reference)
        OR k.kind IN ('returned', 'debited') AND EXISTS (SELECT FROM known_return r
          WHERE r.account_id = p.account_id AND r.payment = p.id::text AND (${sameReturn}))
        OR k.kind = 'debited' AND EXISTS (SELECT FROM refund f WHERE f.account_id = p.account_id AND f.payment_id = p.id
          AND f.status = 'completed' AND f.end_to_end = k.end_to_end AND (${sameRefund})) END) IS NOT TRUE`;

/** By a name that both have: `id` counts within one Pix, and a payout (empty `pix`) is one. */
const sharesName = `r.rtr_id = k.rtr_id OR r.return_id = k.return_id AND r.pix IN ('', k.end_to_end)`;

const refundSharesName = `f.rtr_id = k.rtr_id OR replace(f.id::text, '-', '') = k.return_id`;

const unknown: Statement = { name: 'statement_unknown', text: unknownWhere(sharesName, refundSharesName) };

/**
 * Lines that are left after the payment was queried, whose answer lists all returns of the Pix: a line with only the name that the books do not
 * have is then the return of its amount. Not before: of two equal returns one may be missing.
 */
const lacking: Statement = {
  name: 'statement_lacking',
  text: unknownWhere(
    `${sharesName} OR r.amount_cents = k.amount_cents
            AND (r.rtr_id IS NULL OR k.rtr_id IS NULL) AND (r.return_id IS NULL OR k.return_id IS NULL)`,
    `${refundSharesName} OR f.amount_cents = k.amount_cents AND f.rtr_id IS NULL AND k.return_id IS NULL`,
  ),
};

type NamedLine = Pick<StatementLine, 'kind' | 'id' | 'rtrId' | 'endToEnd'> & {
  amountCents: number | null;
  paymentId: string;
  accountNumber: number;
};

export interface NewLines<Line> {
  /** Of payments of this connection. */
  unknown: Line[];
  /** An account of ours has the number of their id, and no payment of the connection has the id. */
  strays: Line[];
}

const select =
  (statement: Statement) =>
  async <Line extends NamedLine>(
    sql: Queries,
    connection: string,
    lines: readonly Line[],
  ): Promise<NewLines<Line>> => {
    const found = await sql.run<{ n: number; stray: boolean }>(statement, [
      connection,
      lines.map((line) => line.accountNumber),
      lines.map((line) => line.paymentId),
      lines.map((line) => line.kind),
      // Empty, it would be the reference of every journal that has none.
      lines.map((line) => referenceOf(line) || null),
      lines.map((line) => line.rtrId),
      // Where the provider gave no `id`, the line repeats its `rtrId`.
      lines.map((line) => (line.id === line.rtrId ? null : line.id)),
      lines.map((line) => line.endToEnd),
      lines.map((line) => line.amountCents),
    ]);
    const those = (wanted: boolean) =>
      found.flatMap(({ n, stray }) => (stray === wanted ? (lines[n] ?? []) : []));
    return { unknown: those(false), strays: those(true) };
  };

/** Of lines that name ids of our form, those whose money the books lack, compared by ids alone. */
export const findNews = select(unknown);

const lackingOf = select(lacking);

/** Of lines that name payments of ours, those whose money the books lack, compared by ids alone. */
export const findUnknown = async <Line extends NamedLine>(
  sql: Queries,
  connection: string,
  lines: readonly Line[],
): Promise<Line[]> => (await findNews(sql, connection, lines)).unknown;

/** As `findUnknown`, after the payments were queried: a return of the same amount counts as well. */
export const findLacking = async <Line extends NamedLine>(
  sql: Queries,
  connection: string,
  lines: readonly Line[],
): Promise<Line[]> => (await lackingOf(sql, connection, lines)).unknown;

/** Under which reference the books have the money of a line: a return as `identifyReturns` names it. */
const referenceOf = ({
  kind,
  id,
  rtrId,
  endToEnd,
}: Pick<StatementLine, 'kind' | 'id' | 'rtrId' | 'endToEnd'>) =>
  kind === 'returned' || kind === 'debited' ? (rtrId ?? `${endToEnd}/${id}`) : endToEnd;

const unnamed: Statement = {
  name: 'statement_unnamed',
  text: `SELECT k.rtr_id AS "rtrId" FROM unnest($1::text[]) AS k (rtr_id)
    WHERE NOT EXISTS (SELECT FROM known_return r WHERE r.rtr_id = k.rtr_id)
      AND NOT EXISTS (SELECT FROM refund f WHERE f.rtr_id = k.rtr_id)`,
};

/** Of returns by `rtrId`, which is unique, those that the books of a cell have under no account. */
export const findUnnamed = async (sql: Queries, rtrIds: readonly string[]): Promise<string[]> =>
  (await sql.run<{ rtrId: string }>(unnamed, [rtrIds])).map(({ rtrId }) => rtrId);
