import type { Queries, Statement } from '../ports/sql.ts';

/** A provider's delivery as it was stored, sealed. */
export interface StoredDelivery {
  id: string;
  connection: string;
  receivedAt: number;
  body: Buffer;
  authentic: boolean;
}

const insert: Statement = {
  name: 'inbound_insert',
  text: `INSERT INTO inbound (id, connection, received_at, body, authentic)
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::bytea[], $5::boolean[])`,
};

export const insertDeliveries = (sql: Queries, rows: readonly StoredDelivery[]): Promise<unknown> =>
  sql.run(insert, [
    rows.map((row) => row.id),
    rows.map((row) => row.connection),
    rows.map((row) => new Date(row.receivedAt).toISOString()),
    rows.map((row) => row.body),
    rows.map((row) => row.authentic),
  ]);

const mark: Statement = {
  name: 'inbound_mark',
  text: `UPDATE inbound SET applied_at = $2 WHERE id = ANY ($1::uuid[]) AND applied_at IS NULL`,
};

export const markApplied = (sql: Queries, ids: readonly string[], now: number): Promise<unknown> =>
  sql.run(mark, [ids, new Date(now).toISOString()]);

const left: Statement = {
  name: 'inbound_left',
  text: `SELECT id, connection, received_at AS "receivedAt", body, authentic
    FROM inbound WHERE applied_at IS NULL AND authentic AND received_at < $1 ORDER BY received_at LIMIT $2`,
};

/** Authentic deliveries that nobody has applied: their process ended first. */
export const findLeft = (sql: Queries, before: number, most: number): Promise<StoredDelivery[]> =>
  sql.run<StoredDelivery>(left, [new Date(before).toISOString(), most]);

const token: Statement = {
  name: 'connection_token',
  text: 'SELECT webhook_token AS "webhookToken" FROM connection WHERE id = $1',
};

export const findWebhookToken = async (sql: Queries, connection: string): Promise<string | undefined> =>
  (await sql.run<{ webhookToken: string }>(token, [connection]))[0]?.webhookToken;
