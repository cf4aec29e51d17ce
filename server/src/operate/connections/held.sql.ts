import type { Queries, Statement } from '../../ports/sql.ts';

/** The columns of a connection that say that it is held, and why. */

const time = (ms: number): string => new Date(ms).toISOString();

const note: Statement = {
  name: 'connection_hold_note',
  text: `UPDATE connection SET held_since = coalesce(held_since, $3), held_seen_at = $3, held_reason = $2 WHERE id = $1
    RETURNING held_since AS since`,
};

/** @returns since when it is held; undefined: there is no such connection */
export const noteHold = async (
  sql: Queries,
  hold: { connection: string; reason: string; at: number },
): Promise<number | undefined> =>
  (await sql.run<{ since: number }>(note, [hold.connection, hold.reason, time(hold.at)]))[0]?.since;

const over: Statement = {
  name: 'connection_holds_over',
  text: `SELECT id AS connection, held_since AS since FROM connection WHERE held_seen_at < $1`,
};

/** Holds of which no process has said since then that they last. */
export const findHoldsNotSeenSince = (
  sql: Queries,
  since: number,
): Promise<{ connection: string; since: number }[]> =>
  sql.run<{ connection: string; since: number }>(over, [time(since)]);

const end: Statement = {
  name: 'connection_hold_end',
  text: `UPDATE connection SET held_since = NULL, held_seen_at = NULL, held_reason = NULL WHERE id = $1 AND held_seen_at < $2`,
};

export const endHold = (sql: Queries, connection: string, notSeenSince: number): Promise<unknown> =>
  sql.run(end, [connection, time(notSeenSince)]);
