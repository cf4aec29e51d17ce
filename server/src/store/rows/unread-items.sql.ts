import type { Queries, Statement } from '../../ports/sql.ts';
import type { UnreadKind } from '../../provider/provider.ts';

/** An item that a provider sent and that cannot be read (table `unread_item`), with its body sealed under its id. */
export interface UnreadRow {
  id: string;
  kind: UnreadKind;
  reference: string;
  providerId: string | null;
  endToEnd: string | null;
  body: Buffer;
  firstSeenAt: number;
  /** From when on it is an incident. */
  incidentDueAt: number;
}

/** As operators see it. */
export interface OpenUnread extends Omit<UnreadRow, 'body' | 'incidentDueAt'> {
  connection: string;
  seenAt: number;
  tries: number;
  incidentId: string | null;
}

/** Of one connection: beyond these a provider writes everything in a form that is new, and the first thousand say which. */
const rowsMost = 1_000;

const time = (ms: number): string => new Date(ms).toISOString();

const keep: Statement = {
  name: 'unread_keep',
  text: `INSERT INTO unread_item AS u (id, connection, kind, reference, provider_id, end_to_end, body, first_seen_at, seen_at, tries, next_at,
      incident_due_at)
    SELECT k.id, $1, k.kind, k.reference, k.provider_id, k.end_to_end, k.body, $8, $8, 0, $9, k.incident_due_at
    FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $10::timestamptz[])
      AS k (id, kind, reference, provider_id, end_to_end, body, incident_due_at)
    WHERE (SELECT count(*) FROM (SELECT FROM unread_item WHERE connection = $1 LIMIT ${rowsMost}) AS there) < ${rowsMost}
      OR EXISTS (SELECT FROM unread_item o WHERE o.connection = $1 AND o.kind = k.kind AND o.reference = k.reference)
    ORDER BY k.kind, k.reference
    ON CONFLICT (connection, kind, reference) DO UPDATE SET seen_at = excluded.seen_at,
      incident_due_at = LEAST(u.incident_due_at, excluded.incident_due_at)
      WHERE u.seen_at < excluded.seen_at - interval '1 minute' OR u.incident_due_at > excluded.incident_due_at
    RETURNING (xmax = 0) AS "isNew"`,
};

/** @returns how many were not there before */
export const keepRows = async (
  sql: Queries,
  connection: string,
  rows: readonly UnreadRow[],
  now: number,
  nextAt: number,
): Promise<number> => {
  const kept = await sql.run<{ isNew: boolean }>(keep, [
    connection,
    rows.map((row) => row.id),
    rows.map((row) => row.kind),
    rows.map((row) => row.reference),
    rows.map((row) => row.providerId),
    rows.map((row) => row.endToEnd),
    rows.map((row) => row.body),
    time(now),
    time(nextAt),
    rows.map((row) => time(row.incidentDueAt)),
  ]);
  return kept.filter(({ isNew }) => isNew).length;
};

const settle: Statement = {
  name: 'unread_settle',
  text: `DELETE FROM unread_item WHERE connection = $1 AND kind = ANY ($2::text[]) AND reference = ANY ($3::text[])`,
};

/** The items of these names can be read now. */
export const removeRead = async (
  sql: Queries,
  connection: string,
  kinds: readonly UnreadKind[],
  names: readonly string[],
): Promise<void> => {
  if (names.length > 0) await sql.run(settle, [connection, kinds, names]);
};

const claim: Statement = {
  name: 'unread_claim',
  text: `WITH k AS (
      SELECT id FROM unread_item WHERE connection = $1 AND next_at <= $2 AND dismissed_at IS NULL
      ORDER BY next_at LIMIT $4 FOR UPDATE SKIP LOCKED)
    UPDATE unread_item u SET next_at = $3 FROM k WHERE u.id = k.id
    RETURNING u.id, u.kind, u.reference, u.provider_id AS "providerId", u.end_to_end AS "endToEnd", u.tries`,
};

export type DueUnread = Pick<UnreadRow, 'id' | 'kind' | 'reference' | 'providerId' | 'endToEnd'> & {
  tries: number;
};

/** Those that are to be asked for again; no other process takes them before `untilMs`. */
export const claimUnread = (
  sql: Queries,
  connection: string,
  now: number,
  untilMs: number,
  most: number,
): Promise<DueUnread[]> => sql.run<DueUnread>(claim, [connection, time(now), time(untilMs), most]);

const failed: Statement = {
  name: 'unread_failed',
  text: 'UPDATE unread_item SET tries = tries + 1, next_at = $2 WHERE id = $1',
};

export const noteUnreadFailed = (sql: Queries, id: string, nextAt: number): Promise<unknown> =>
  sql.run(failed, [id, time(nextAt)]);

const remove: Statement = {
  name: 'unread_remove',
  text: 'DELETE FROM unread_item WHERE id = $1',
};

export const removeUnread = (sql: Queries, id: string): Promise<unknown> => sql.run(remove, [id]);

const unnamed: Statement = {
  name: 'unread_unnamed',
  text: `SELECT kind, count(*)::integer AS count, min(id::text) AS first FROM unread_item
    WHERE connection = $1 AND incident_id IS NULL AND dismissed_at IS NULL GROUP BY kind HAVING min(incident_due_at) <= $2`,
};

/** Kinds of a connection that have to become an incident now. */
export const findUnnamedKinds = (
  sql: Queries,
  connection: string,
  now: number,
): Promise<{ kind: UnreadKind; count: number; first: string }[]> => sql.run(unnamed, [connection, time(now)]);

const named: Statement = {
  name: 'unread_named',
  text: 'SELECT DISTINCT incident_id AS id FROM unread_item WHERE connection = $1 AND incident_id IS NOT NULL AND dismissed_at IS NULL',
};

/** The incidents that name an item. */
export const findNaming = async (sql: Queries, connection: string): Promise<string[]> =>
  (await sql.run<{ id: string }>(named, [connection])).map(({ id }) => id);

const nameIncident: Statement = {
  name: 'unread_name_incident',
  text: `UPDATE unread_item SET incident_id = $3 WHERE connection = $1 AND kind = $2 AND incident_id IS NULL`,
};

export const nameIncidentOf = (
  sql: Queries,
  connection: string,
  kind: UnreadKind,
  incidentId: string,
): Promise<unknown> => sql.run(nameIncident, [connection, kind, incidentId]);

const openOf: Statement = {
  name: 'unread_incidents_open',
  text: `SELECT i.id, i.detail ->> 'items' AS kind FROM incident i
    WHERE i.account_id = $1 AND i.state = 'open' AND i.kind = 'unread' AND i.detail ->> 'connection' = $2`,
};

/** The open incidents of a connection. */
export const findUnreadIncidents = (
  sql: Queries,
  accountId: string,
  connection: string,
): Promise<{ id: string; kind: string }[]> => sql.run(openOf, [accountId, connection]);

const open: Statement = {
  name: 'unread_open',
  text: `SELECT id, connection, kind, reference, provider_id AS "providerId", end_to_end AS "endToEnd", first_seen_at AS "firstSeenAt",
      seen_at AS "seenAt", tries, incident_id AS "incidentId"
    FROM unread_item WHERE dismissed_at IS NULL ORDER BY first_seen_at, id LIMIT 1000`,
};

/** The oldest thousand. */
export const findOpenUnread = (sql: Queries): Promise<OpenUnread[]> => sql.run<OpenUnread>(open);

const dismiss: Statement = {
  name: 'unread_dismiss',
  text: `UPDATE unread_item SET dismissed_at = $2 WHERE id = $1 AND dismissed_at IS NULL RETURNING connection, kind, reference`,
};

/** @returns undefined: there is none */
export const markDismissed = async (
  sql: Queries,
  id: string,
  now: number,
): Promise<Pick<OpenUnread, 'connection' | 'kind' | 'reference'> | undefined> =>
  (await sql.run<Pick<OpenUnread, 'connection' | 'kind' | 'reference'>>(dismiss, [id, time(now)]))[0];

const prune: Statement = {
  name: 'unread_prune',
  text: `DELETE FROM unread_item WHERE id IN (SELECT id FROM unread_item WHERE seen_at < $1 ORDER BY seen_at LIMIT $2)
      AND seen_at < $1
    RETURNING 1 AS pruned`,
};

/** Removes what the provider has not sent since. @returns how many */
export const pruneUnread = async (sql: Queries, before: number, most: number): Promise<number> =>
  (await sql.run(prune, [time(before), most])).length;

const bodyOf: Statement = {
  name: 'unread_body',
  text: 'SELECT body FROM unread_item WHERE id = $1',
};

export const findUnreadBody = async (sql: Queries, id: string): Promise<Buffer | undefined> =>
  (await sql.run<{ body: Buffer }>(bodyOf, [id]))[0]?.body;
