import type { Queries, Statement } from '../../ports/sql.ts';
import type { Finding } from '../../provider/provider.ts';
import { timestamp } from '../../store/database/pool.ts';

/** An examination of a connection by the doctor, for pages. */
export interface Examination {
  askedAt: number;
  /** E-mail address of the operator. */
  askedBy: string;
  /** Null: it waits for a worker, or one is at it. */
  endedAt: number | null;
  /** Of the last one that ended with an answer, and when; null: none did. */
  findings: Finding[] | null;
  foundAt: number | null;
}

const columns = `asked_at AS "askedAt", asked_by AS "askedBy", ended_at AS "endedAt", findings, found_at AS "foundAt"`;

// Earlier findings stay until there are new ones.
const ask: Statement = {
  name: 'examination_ask',
  text: `INSERT INTO connection_examination AS e (connection, asked_at, asked_by) VALUES ($1, $2, $3)
    ON CONFLICT (connection) DO UPDATE SET asked_at = excluded.asked_at, asked_by = excluded.asked_by, taken_at = NULL, ended_at = NULL
      WHERE e.asked_at < $4 AND e.ended_at IS NOT NULL
    RETURNING connection`,
};

/** @returns false: it was asked for after `before` already, or the one before has not ended */
export const askExamination = async (
  tx: Queries,
  wanted: { connection: string; at: number; by: string; before: number },
): Promise<boolean> =>
  (await tx.run(ask, [wanted.connection, timestamp(wanted.at), wanted.by, timestamp(wanted.before)])).length >
  0;

const one: Statement = {
  name: 'examination_one',
  text: `SELECT ${columns} FROM connection_examination WHERE connection = $1`,
};

export const findExamination = async (sql: Queries, connection: string): Promise<Examination | undefined> =>
  (await sql.run<Examination>(one, [connection]))[0];

const next: Statement = {
  name: 'examination_next',
  text: `SELECT connection FROM connection_examination WHERE ended_at IS NULL AND (taken_at IS NULL OR taken_at < $1) ORDER BY asked_at LIMIT 1`,
};

// Of two workers that saw the same row, the second finds it taken.
const take: Statement = {
  name: 'examination_take',
  text: `UPDATE connection_examination SET taken_at = $2
    WHERE connection = $1 AND ended_at IS NULL AND (taken_at IS NULL OR taken_at < $3) RETURNING connection`,
};

/** The one that waits longest; one that was taken before `takenBefore` is taken again. */
export async function takeExamination(
  sql: Queries,
  now: number,
  takenBefore: number,
): Promise<string | undefined> {
  const [row] = await sql.run<{ connection: string }>(next, [timestamp(takenBefore)]);
  if (!row) return undefined;
  const taken = await sql.run(take, [row.connection, timestamp(now), timestamp(takenBefore)]);
  return taken.length > 0 ? row.connection : undefined;
}

const end: Statement = {
  name: 'examination_end',
  text: `UPDATE connection_examination SET ended_at = $3, findings = coalesce($4::jsonb, findings),
      found_at = CASE WHEN $4::jsonb IS NULL THEN found_at ELSE $3 END
    WHERE connection = $1 AND taken_at = $2 AND ended_at IS NULL`,
};

/** @param findings null: there was no answer in time */
export const endExamination = (
  sql: Queries,
  { connection, takenAt }: { connection: string; takenAt: number },
  endedAt: number,
  findings: readonly Finding[] | null,
): Promise<unknown> =>
  sql.run(end, [
    connection,
    timestamp(takenAt),
    timestamp(endedAt),
    findings === null ? null : JSON.stringify(findings),
  ]);
