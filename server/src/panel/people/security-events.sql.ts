import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

export interface SecurityEventRow {
  id: string;
  at: number;
  accountId: string | null;
  userId: string | null;
  sessionId: string | null;
  actor: 'person' | 'operator';
  kind: string;
  outcome: 'ok' | 'refused';
  ipAddress: string | null;
  detail: Record<string, unknown>;
}

/** A person's acts on their own access belong to their account, if they have one; with several accounts they are their own. */
const insert: Statement = {
  name: 'security_event_insert',
  text: `INSERT INTO security_event (id, at, account_id, user_id, session_id, actor, kind, outcome, ip_address, detail)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

const selectOnlyAccount: Statement = {
  name: 'security_event_only_account',
  text: 'SELECT min(account_id::text)::uuid AS id FROM panel_member WHERE user_id = $1 HAVING count(*) = 1',
};

export const insertSecurityEvent = (sql: Sql, event: SecurityEventRow): Promise<unknown> =>
  sql.tx(async (tx) => {
    const [only] =
      event.accountId === null ? await tx.run<{ id: string }>(selectOnlyAccount, [event.userId]) : [];
    return tx.run(insert, [
      event.id,
      timestamp(event.at),
      event.accountId ?? only?.id,
      event.userId,
      event.sessionId,
      event.actor,
      event.kind,
      event.outcome,
      event.ipAddress,
      JSON.stringify(event.detail),
    ]);
  });

export interface ListedSecurityEvent extends SecurityEventRow {
  /** Null: the person is not known (any more). */
  name: string | null;
  email: string | null;
  /** To whom it was done: a member who was invited, removed or signed out. */
  subjectName: string | null;
}

/** The filter of an event; null: any. */
export interface SecurityEventFilter {
  kinds: readonly string[] | null;
  outcome: string | null;
  userId: string | null;
  /** From this id on: ids are ordered by time. */
  fromId: string;
}

/** `$4` events are looked at, and with each one that passes comes the last one that was looked at, unless there are no more. */
const select: Statement = {
  name: 'security_event_list',
  text: `WITH looked AS MATERIALIZED (
      SELECT * FROM security_event WHERE account_id = $1 AND id < $2 AND id >= $3 ORDER BY id DESC LIMIT $4)
    SELECT l.id AS "lookedTo", e.id, e.at, e.account_id AS "accountId", e.user_id AS "userId", e.session_id AS "sessionId", e.actor,
      e.kind, e.outcome, e.ip_address AS "ipAddress", e.detail, u.name, u.email, t.name AS "subjectName"
    FROM (SELECT 1) AS one LEFT JOIN (SELECT id FROM looked ORDER BY id DESC OFFSET $4::int - 1 LIMIT 1) l ON true
      LEFT JOIN (SELECT * FROM looked WHERE ($5::text[] IS NULL OR kind = ANY ($5::text[])) AND ($6::text IS NULL OR outcome = $6)
          AND ($7::uuid IS NULL OR user_id = $7::uuid)
        ORDER BY id DESC LIMIT $8) e ON true
      LEFT JOIN panel_user u ON u.id = e.user_id LEFT JOIN panel_user t ON t.id::text = e.detail->>'userId'
    ORDER BY e.id DESC`,
};

/** How many events one page looks at, whatever it is filtered by. */
const lookedAtMost = 2_000;

/** Newest first, below an id. @returns what was found, and the event below which the next page is; null: that was all */
export async function findSecurityEvents(
  sql: Queries,
  accountId: string,
  below: string,
  most: number,
  filter: SecurityEventFilter,
): Promise<{ events: ListedSecurityEvent[]; nextBelow: string | null }> {
  const { kinds, outcome, userId, fromId } = filter;
  const values = [accountId, below, fromId, lookedAtMost, kinds, outcome, userId, most + 1];
  const rows = await sql.run<ListedSecurityEvent & { lookedTo: string | null }>(select, values);
  const events = rows.filter(({ id }) => id !== null);
  if (events.length > most) {
    events.pop();
    return { events, nextBelow: events.at(-1)?.id ?? null };
  }
  return { events, nextBelow: rows[0]?.lookedTo ?? null };
}

const prune: Statement = {
  name: 'security_event_prune',
  text: `DELETE FROM security_event WHERE id IN (
      SELECT id FROM security_event WHERE id < $1 ORDER BY id LIMIT $2)
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed */
export const pruneSecurityEvents = (sql: Sql, belowId: string, most: number): Promise<number> =>
  sql.tx(async (tx) => (await tx.run(prune, [belowId, most])).length);
