import type { Permission } from '../ground/permissions.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import { timestamp } from '../store/database/pool.ts';

export interface LoggedEvent {
  id: string;
  body: string;
}

const selectOne: Statement = {
  name: 'event_read',
  text: `SELECT id, body FROM event WHERE account_id = $1 AND id = $2`,
};

export const findEvent = async (
  sql: Queries,
  accountId: string,
  id: string,
): Promise<LoggedEvent | undefined> => (await sql.run<LoggedEvent>(selectOne, [accountId, id]))[0];

/** Which events, and where in the list. */
export interface Stretch {
  /** Ids, which are ordered by time: at or above `lowest`, below `below`. */
  lowest: string;
  below: string;
  from: number;
  to: number;
  type: string | null;
  paymentId: string | null;
}

const selectPage: Statement = {
  name: 'event_page',
  text: `SELECT id, body
    FROM (SELECT * FROM event WHERE account_id = $1 AND id >= $2 AND id < $3 ORDER BY id DESC LIMIT $4) e
    WHERE endpoint_id IS NULL AND created_at >= $5 AND created_at < $6 AND ($7::text IS NULL OR type = $7)
      AND ($8::uuid IS NULL OR payment_id = $8)
    ORDER BY id DESC LIMIT $9`,
};

/** Those of the stretch's first `scanned` events that fit, newest first. */
export const findEvents = (
  sql: Queries,
  accountId: string,
  { lowest, below, from, to, type, paymentId }: Stretch,
  scanned: number,
  most: number,
): Promise<LoggedEvent[]> =>
  sql.run<LoggedEvent>(selectPage, [
    accountId,
    lowest,
    below,
    scanned,
    timestamp(from),
    timestamp(to),
    type,
    paymentId,
    most,
  ]);

const selectPlace: Statement = {
  name: 'event_place',
  text: `SELECT id FROM event WHERE account_id = $1 AND id >= $2 AND id < $3 ORDER BY id DESC OFFSET $4 LIMIT 1`,
};

/** The event that has `offset` before it in the stretch. */
export const findPlace = async (
  sql: Queries,
  accountId: string,
  { lowest, below }: Stretch,
  offset: number,
): Promise<string | undefined> =>
  (await sql.run<{ id: string }>(selectPlace, [accountId, lowest, below, offset]))[0]?.id;

const selectLife: Statement = {
  name: 'event_payment_life',
  text: `SELECT created_at AS "createdAt", updated_at AS "updatedAt" FROM payment WHERE account_id = $1 AND id = $2`,
};

/** Between which instants a payment lived so far. */
export const findLife = async (
  sql: Queries,
  accountId: string,
  paymentId: string,
): Promise<{ createdAt: number; updatedAt: number } | undefined> =>
  (await sql.run<{ createdAt: number; updatedAt: number }>(selectLife, [accountId, paymentId]))[0];

// ------------------------------------------------------------------------------------------------------------------- stream

export interface StreamedEvent {
  stream: number;
  seq: number;
  type: string;
  body: string;
}

const selectBehind: Statement = {
  name: 'event_stream',
  text: `SELECT k.stream, l.seq, e.type, e.body
    FROM unnest($1::int[], $2::uuid[], $3::bigint[]) AS k (stream, account_id, after)
      CROSS JOIN LATERAL (SELECT seq, event_id FROM event_log l WHERE l.account_id = k.account_id AND l.seq > k.after
        ORDER BY l.seq LIMIT $4) l
      JOIN event e ON e.account_id = k.account_id AND e.id = l.event_id
    ORDER BY k.stream, l.seq`,
};

/** For each stream the events behind its place, `most` at a time. */
export const findBehind = (
  sql: Queries,
  streams: readonly { stream: number; accountId: string; after: number }[],
  most: number,
): Promise<StreamedEvent[]> =>
  sql.run<StreamedEvent>(selectBehind, [
    streams.map(({ stream }) => stream),
    streams.map(({ accountId }) => accountId),
    streams.map(({ after }) => after),
    most,
  ]);

/** The account's state that a stream depends on, in one text that is only compared: where it is served, at which connection, whether it is enabled. */
const standing = `concat_ws(' ', a.cell, a.connection, a.enabled)`;

const selectStart: Statement = {
  name: 'event_stream_start',
  text: `SELECT coalesce(s.last_seq, 0) AS "lastSeq", ${standing} AS standing
    FROM account a LEFT JOIN event_sequence s ON s.account_id = a.id WHERE a.id = $1`,
};

/** The last place of an account's log, and how the account stands as the stream begins. */
export const findStart = async (
  sql: Queries,
  accountId: string,
): Promise<{ lastSeq: number; standing: string }> =>
  (await sql.run<{ lastSeq: number; standing: string }>(selectStart, [accountId]))[0] ?? {
    lastSeq: 0,
    standing: '',
  };

const selectStanding: Statement = {
  name: 'event_stream_accounts',
  text: `SELECT a.id, ${standing} AS standing FROM account a WHERE a.id = ANY ($1::uuid[])`,
};

/** How the accounts stand now. */
export const findStanding = async (
  sql: Queries,
  accountIds: readonly string[],
): Promise<Map<string, string>> =>
  new Map(
    (await sql.run<{ id: string; standing: string }>(selectStanding, [accountIds])).map((row) => [
      row.id,
      row.standing,
    ]),
  );

const selectInForce: Statement = {
  name: 'event_stream_keys',
  text: `SELECT id, permissions, created_at AS "createdAt", last_used_at AS "lastUsedAt", woken_at AS "wokenAt"
    FROM api_key WHERE id = ANY ($1::text[]) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
      AND permissions && '{read,webhooks}'::text[]`,
};

/** A key as the door judges it beside its end: whether it was suspended for want of use. */
export interface StreamKey {
  id: string;
  permissions: Permission[];
  createdAt: number;
  lastUsedAt: number | null;
  wokenAt: number | null;
}

/** Those of the keys that are not revoked or expired and may read events. */
export const findKeysInForce = (
  sql: Queries,
  keyIds: readonly string[],
  nowMs: number,
): Promise<StreamKey[]> => sql.run<StreamKey>(selectInForce, [keyIds, timestamp(nowMs)]);

// ------------------------------------------------------------------------------------------------------------------ pruning

const selectAccounts: Statement = {
  name: 'prune_accounts',
  text: `SELECT id FROM account WHERE cell = current_schema() AND id > $1 ORDER BY id LIMIT $2`,
};

export const findAccountsAfter = async (sql: Queries, after: string, most: number): Promise<string[]> =>
  (await sql.run<{ id: string }>(selectAccounts, [after, most])).map(({ id }) => id);

const pruneLog: Statement = {
  name: 'prune_log',
  text: `DELETE FROM event_log l USING (
      SELECT o.account_id, o.seq FROM unnest($1::uuid[]) AS a (id)
        JOIN LATERAL (SELECT event_id FROM event_log WHERE account_id = a.id ORDER BY seq LIMIT 1) oldest ON oldest.event_id < $2
        CROSS JOIN LATERAL (
        SELECT account_id, seq, event_id FROM event_log WHERE account_id = a.id ORDER BY seq LIMIT $3) o
      WHERE o.event_id < $2 LIMIT $3) AS old
    WHERE l.account_id = old.account_id AND l.seq = old.seq RETURNING l.seq`,
};

const pruneEvents: Statement = {
  name: 'prune_events',
  text: `DELETE FROM event e USING (
      SELECT o.account_id, o.id FROM unnest($1::uuid[]) AS a (id) CROSS JOIN LATERAL (
        SELECT account_id, id FROM event WHERE account_id = a.id AND id < $2 ORDER BY id LIMIT $3) o LIMIT $3) AS old
    WHERE e.account_id = old.account_id AND e.id = old.id RETURNING e.id`,
};

/** Removes what is older than the event id `below`, at most `most` rows of each kind. @returns how many */
export const pruneBelow = async (
  sql: Queries,
  accountIds: readonly string[],
  below: string,
  most: number,
): Promise<number> => {
  let removed = 0;
  for (const statement of [pruneLog, pruneEvents]) {
    removed += (await sql.run(statement, [accountIds, below, most])).length;
  }
  return removed;
};
