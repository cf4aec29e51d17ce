import type { Queries, Statement } from '../../ports/sql.ts';

/** A provider's delivery as it was stored, sealed. */
export interface StoredDelivery {
  id: string;
  connection: string;
  receivedAt: number;
  body: Buffer;
  authentic: boolean;
  /** Tries that failed. */
  tries: number;
  /** From when on any process may apply it. */
  nextAt: number;
  /** In whose turn it is applied where it was left: the number of the account that it names; 0: none, or several. Null: not known. */
  line: number | null;
}

/** The row of `inbound` is `i`. */
export const deliveryColumns =
  'i.id, i.connection, i.received_at AS "receivedAt", i.body, i.authentic, i.tries, i.next_at AS "nextAt", i.line';

const insert: Statement = {
  name: 'inbound_insert',
  text: `INSERT INTO inbound (id, connection, received_at, body, authentic, tries, next_at, line)
    VALUES (unnest($1::uuid[]), unnest($2::text[]), unnest($3::timestamptz[]), unnest($4::bytea[]), unnest($5::boolean[]), unnest($6::integer[]), unnest($7::timestamptz[]),
      unnest($8::bigint[]))`,
};

export const insertDeliveries = (sql: Queries, rows: readonly StoredDelivery[]): Promise<unknown> =>
  sql.run(insert, [
    rows.map((row) => row.id),
    rows.map((row) => row.connection),
    rows.map((row) => new Date(row.receivedAt).toISOString()),
    rows.map((row) => row.body),
    rows.map((row) => row.authentic),
    rows.map((row) => row.tries),
    rows.map((row) => new Date(row.nextAt).toISOString()),
    rows.map((row) => row.line),
  ]);

const mark: Statement = {
  name: 'inbound_mark',
  text: `UPDATE inbound SET applied_at = $2 WHERE id = ANY ($1::uuid[]) AND applied_at IS NULL`,
};

export const markApplied = (sql: Queries, ids: readonly string[], now: number): Promise<unknown> =>
  sql.run(mark, [ids, new Date(now).toISOString()]);

const postpone: Statement = {
  name: 'inbound_postpone',
  text: `UPDATE inbound SET tries = tries + 1, next_at = $2 WHERE id = $1 AND applied_at IS NULL`,
};

export const postponeDelivery = (sql: Queries, id: string, nextAt: number): Promise<unknown> =>
  sql.run(postpone, [id, new Date(nextAt).toISOString()]);

const leave: Statement = {
  name: 'inbound_leave',
  text: `UPDATE inbound SET next_at = $2 WHERE id = $1 AND applied_at IS NULL`,
};

/** Applies it later, without counting a try. */
export const leaveDelivery = (sql: Queries, id: string, nextAt: number): Promise<unknown> =>
  sql.run(leave, [id, new Date(nextAt).toISOString()]);

const left: Statement = {
  name: 'inbound_left',
  text: `SELECT ${deliveryColumns} FROM inbound i
    WHERE i.applied_at IS NULL AND i.authentic AND i.connection = $1 AND i.next_at <= $2 ORDER BY i.next_at LIMIT $3`,
};

/** Authentic deliveries that are not applied yet: their process ended before, or applying them failed. */
export const findLeft = (
  sql: Queries,
  connection: string,
  now: number,
  most: number,
): Promise<StoredDelivery[]> =>
  sql.run<StoredDelivery>(left, [connection, new Date(now).toISOString(), most]);

const tokens: Statement = {
  name: 'connection_tokens',
  text: `SELECT webhook_token AS current, webhook_token_previous AS previous, webhook_base AS base
    FROM connection WHERE id = $1`,
};

const registered: Statement = {
  name: 'connection_registered',
  text: 'UPDATE connection SET webhook_base = $2 WHERE id = $1 AND webhook_base IS DISTINCT FROM $2',
};

/** The provider delivers to this address of ours from now on. */
export async function storeWebhookBase(sql: Queries, connection: string, base: string): Promise<void> {
  await sql.run(registered, [connection, base]);
}

export interface WebhookTokens {
  current: string;
  /** Good as well, until the next change. */
  previous: string | null;
  /** The address of the service that was last registered at the provider; null: none yet. */
  base: string | null;
}

export const findWebhookTokens = async (
  sql: Queries,
  connection: string,
): Promise<WebhookTokens | undefined> => (await sql.run<WebhookTokens>(tokens, [connection]))[0];
