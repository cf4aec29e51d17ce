import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';

/** Work that is done again and again, by one process at a time (table `job`). */
export interface Job {
  what: 'statement' | 'late_statement' | 'day_report' | 'costs' | 'disputes' | 'balance' | 'closes';
  /** A turn that takes longer may be taken by another process meanwhile. */
  claimMs: number;
  /** Before the first turn of a subject that is new. */
  firstAfterMs?: number;
  /** Continues also while a restore waits for its reconciliation. */
  runsAfterRestore?: boolean;
}

/** A turn that this process has. */
export interface Turn {
  what: Job['what'];
  /** A connection; empty: the installation. */
  subject: string;
  until: number;
}

/**
 * Writes nothing where nothing is due: an upsert would lock the row to find that out, and so write it.
 */
const claim: Statement = {
  name: 'job_claim',
  text: `WITH due AS (
      SELECT what, subject FROM job WHERE what = $1 AND subject = $2 AND due_at <= $3
        AND ($6 OR NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL))
      FOR NO KEY UPDATE SKIP LOCKED),
    taken AS (UPDATE job j SET due_at = $4 FROM due WHERE j.what = due.what AND j.subject = due.subject RETURNING true AS begins),
    made AS (
      INSERT INTO job (what, subject, due_at) SELECT $1::text, $2::text, $5::timestamptz
      WHERE NOT EXISTS (SELECT FROM job WHERE what = $1 AND subject = $2)
        AND ($6 OR NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL))
      ON CONFLICT DO NOTHING RETURNING $7::boolean AS begins)
    SELECT begins FROM taken UNION ALL SELECT begins FROM made`,
};

/** Takes a turn, where one is due and no other process has it. */
export async function claimJob(
  sql: Queries,
  { what, claimMs, firstAfterMs = 0, runsAfterRestore = false }: Job,
  subject: string,
  now: number,
): Promise<Turn | undefined> {
  const until = now + claimMs;
  const beginsNew = firstAfterMs === 0;
  const [row] = await sql.run<{ begins: boolean }>(claim, [
    what,
    subject,
    timestamp(now),
    timestamp(until),
    timestamp(beginsNew ? until : now + firstAfterMs),
    runsAfterRestore,
    beginsNew,
  ]);
  return row?.begins === true ? { what, subject, until } : undefined;
}

/**
 * SQL that ends a turn, unless it took longer than its claim and is another process's, or was made due meanwhile: its values are `endOfTurn`, and further ones
 * of a statement begin at `$5`.
 */
export const endingTurn = `UPDATE job SET due_at = $3 WHERE what = $1 AND subject = $2 AND due_at = $4 RETURNING subject`;

export const endOfTurn = ({ what, subject, until }: Turn, dueAt: number): unknown[] => [
  what,
  subject,
  timestamp(dueAt),
  timestamp(until),
];

const end: Statement = { name: 'job_end', text: endingTurn };

/** The next turn is at `dueAt`. */
export const endTurn = (sql: Queries, turn: Turn, dueAt: number): Promise<unknown> =>
  sql.run(end, endOfTurn(turn, dueAt));

const hurry: Statement = {
  name: 'job_hurry',
  text: 'UPDATE job SET due_at = $3 WHERE what = $1 AND subject = $2 AND due_at > $3',
};

/** The next turn is now, also behind one that is under way. */
export const makeJobDue = (sql: Queries, what: Job['what'], subject: string, now: number): Promise<unknown> =>
  sql.run(hurry, [what, subject, timestamp(now)]);
