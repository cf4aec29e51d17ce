import type { Queries, Statement } from '../../ports/sql.ts';
import { type ExportedAudit, exportedAudit } from '../find.sql.ts';

/** A row in its chain. */
export type ChainedRow = ExportedAudit & { seq: number; chainedMs: number };

/** Chains of one look. */
const chainsMost = 50;

/**
 * Of each chain its next rows, all of them by the time of the database. A chain's times never fall and its numbers have no gap, so the first rows of
 * this order are the next ones of their chains, with none left out between.
 *
 * Rejected: one place in the order of time for all accounts. A transaction that was open meanwhile commits a row behind that place.
 */
const next: Statement = {
  name: 'audit_forward_next',
  text: `SELECT entry.* FROM (SELECT account_id, forwarded_seq FROM audit_chain WHERE forwarded_seq < seq LIMIT ${chainsMost}) c
    CROSS JOIN LATERAL (SELECT ${exportedAudit} FROM audit
      WHERE account_id = c.account_id AND seq > c.forwarded_seq ORDER BY seq LIMIT $1) AS entry
    ORDER BY entry."chainedMs", entry."ownerId", entry.seq LIMIT $1`,
};

/** Rows that were not sent yet. Those from before the chains have no number and are not among them. */
export const findUnforwarded = (sql: Queries, most: number): Promise<ChainedRow[]> =>
  sql.run<ChainedRow>(next, [most]);

// A chain by itself, so that it waits for one writer of the audit log at most, and no two wait for each other.
const note: Statement = {
  name: 'audit_forward_note',
  text: 'UPDATE audit_chain SET forwarded_seq = $2 WHERE account_id = $1 AND forwarded_seq < $2',
};

export const noteForwarded = (sql: Queries, accountId: string, seq: number): Promise<unknown> =>
  sql.run(note, [accountId, seq]);
