import type { Queries, Statement } from '../ports/sql.ts';
import type { StatementLine } from '../provider/provider.ts';

const claim: Statement = {
  name: 'statement_claim',
  text: `UPDATE connection SET statement_due_at = $3, statement_read_to = coalesce(statement_read_to, $2),
      statement_pass_at = CASE WHEN statement_read_to IS NOT NULL THEN coalesce(statement_pass_at, $2) END
    WHERE id = $1 AND (statement_due_at IS NULL OR statement_due_at <= $2)
      AND NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL)
    RETURNING statement_read_to AS "readTo", statement_pass_at AS "passAt"`,
};

const note: Statement = {
  name: 'statement_read',
  text: `UPDATE connection SET statement_read_to = $2, statement_pass_at = $3, statement_due_at = $4
    WHERE id = $1 AND statement_due_at = $5`,
};

const claimLate: Statement = {
  name: 'statement_late_claim',
  text: `UPDATE connection SET late_due_at = $3, late_read_to = coalesce(late_read_to, $4), late_pass_at = coalesce(late_pass_at, $2)
    WHERE id = $1 AND late_due_at <= $2 AND NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL)
    RETURNING late_read_to AS "readTo", late_pass_at AS "passAt"`,
};

const noteLate: Statement = {
  name: 'statement_late_read',
  text: `UPDATE connection SET late_read_to = $2, late_pass_at = $3, late_due_at = $4 WHERE id = $1 AND late_due_at = $5`,
};

const claimDay: Statement = {
  name: 'report_claim',
  text: `UPDATE connection SET report_due_at = $3, report_day = coalesce(report_day, $4::date)
    WHERE id = $1 AND (report_due_at IS NULL OR report_due_at <= $2)
      AND NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL)
    RETURNING to_char(report_day, 'YYYY-MM-DD') AS day, report_id AS "reportId", report_since AS since,
      report_requested_at AS "requestedAt"`,
};

const noteDay: Statement = {
  name: 'report_note',
  text: `UPDATE connection SET report_day = $2::date, report_id = $3, report_due_at = $4, report_since = $6, report_requested_at = $7
    WHERE id = $1 AND report_due_at = $5`,
};

const time = (ms: number): string => new Date(ms).toISOString();

export interface StatementPlace {
  /** Up to where the statement has been read. */
  readTo: number;
  /** When the pass that is under way began; null: this claim was the first of its connection, and nothing is read yet. */
  passAt: number | null;
}

/**
 * From where on the statement is to be read, when that is due; no other process takes it before `untilMs`. Not while a restore waits for
 * its reconciliation, which reads more than this.
 */
export const claimStatement = async (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
): Promise<StatementPlace | undefined> =>
  (await sql.run<StatementPlace>(claim, [connection, time(now), time(untilMs)]))[0];

/** Stores how far a turn has read, unless its claim (`untilMs`) ran out and another process has taken the reading over. */
export const noteStatementRead = (
  sql: Queries,
  connection: string,
  { readTo, passAt }: StatementPlace,
  dueAt: number,
  untilMs: number,
): Promise<unknown> =>
  sql.run(note, [
    connection,
    time(readTo),
    passAt === null ? null : time(passAt),
    time(dueAt),
    time(untilMs),
  ]);

/** The same for the second reading of the lists, which begins at `fromMs` where none is under way. */
export const claimLateReading = async (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
  fromMs: number,
): Promise<{ readTo: number; passAt: number } | undefined> =>
  (
    await sql.run<{ readTo: number; passAt: number }>(claimLate, [
      connection,
      time(now),
      time(untilMs),
      time(fromMs),
    ])
  )[0];

/** @param place null: the reading has ended */
export const noteLateReading = (
  sql: Queries,
  connection: string,
  place: { readTo: number; passAt: number } | null,
  dueAt: number,
  untilMs: number,
): Promise<unknown> =>
  sql.run(noteLate, [
    connection,
    place && time(place.readTo),
    place && time(place.passAt),
    time(dueAt),
    time(untilMs),
  ]);

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

/**
 * Which day's report is to be worked on, when that is due; no other process takes it before `untilMs`. `firstDay` is where a
 * connection begins. Not while a restore waits for its reconciliation, which reads the reports itself.
 */
export const claimReport = async (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
  firstDay: string,
): Promise<ReportPlace | undefined> =>
  (await sql.run<ReportPlace>(claimDay, [connection, time(now), time(untilMs), firstDay]))[0];

/** Stores the place of the reading, unless its claim (`untilMs`) ran out and another process has taken it over. */
export const noteReport = (
  sql: Queries,
  connection: string,
  { day, reportId, since, requestedAt }: ReportPlace,
  dueAt: number,
  untilMs: number,
): Promise<unknown> =>
  sql.run(noteDay, [
    connection,
    day,
    reportId,
    time(dueAt),
    time(untilMs),
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
 * What is left after the payment was queried, whose answer lists all returns of the Pix: a line with only the name that the books do not
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
