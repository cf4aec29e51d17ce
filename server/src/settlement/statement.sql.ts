import type { Queries, Statement } from '../ports/sql.ts';

const claim: Statement = {
  name: 'statement_claim',
  text: `UPDATE connection SET statement_due_at = $3, statement_read_to = coalesce(statement_read_to, $2)
    WHERE id = $1 AND (statement_due_at IS NULL OR statement_due_at <= $2)
      AND NOT EXISTS (SELECT FROM installation WHERE restored_at IS NOT NULL)
    RETURNING statement_read_to AS "readTo"`,
};

const note: Statement = {
  name: 'statement_read',
  text: `UPDATE connection SET statement_read_to = GREATEST(statement_read_to, $2), statement_due_at = $3 WHERE id = $1`,
};

const time = (ms: number): string => new Date(ms).toISOString();

/**
 * From where on the statement is to be read, when that is due and nobody else does it until `untilMs`. Not while a restore waits for
 * its reconciliation, which reads more than this.
 */
export const claimStatement = async (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
): Promise<number | undefined> =>
  (await sql.run<{ readTo: number }>(claim, [connection, time(now), time(untilMs)]))[0]?.readTo;

export const noteStatementRead = (
  sql: Queries,
  connection: string,
  readTo: number,
  dueAt: number,
): Promise<unknown> => sql.run(note, [connection, time(readTo), time(dueAt)]);
