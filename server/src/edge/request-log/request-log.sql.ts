import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp, timestamps } from '../../store/database/pool.ts';
import type { Redacted } from './redact.ts';

export interface LoggedRequest {
  accountId: string;
  id: string;
  at: number;
  method: string;
  route: string;
  status: number;
  errorCode: string | null;
  keyId: string;
  requestId: string;
  clientRequestId: string | null;
  durationMs: number;
  ip: string;
  operationId: string | null;
  paymentId: string | null;
  body: Redacted | null;
  /** Requests since the row before that were answered and not kept. */
  leftOut: number;
}

const insert: Statement = {
  name: 'request_log_insert',
  text: `INSERT INTO request_log (account_id, id, at, method, route, status, error_code, key_id, request_id, client_request_id,
      duration_ms, ip, operation_id, payment_id, body, left_out)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::timestamptz[]), unnest($4::text[]), unnest($5::text[]),
      unnest($6::smallint[]), unnest($7::text[]), unnest($8::text[]), unnest($9::text[]), unnest($10::text[]),
      unnest($11::integer[]), unnest($12::text[]), unnest($13::uuid[]), unnest($14::uuid[]), unnest($15::jsonb[]),
      unnest($16::integer[]))`,
};

export const insertRequests = (sql: Queries, rows: readonly LoggedRequest[]): Promise<unknown> =>
  sql.run(insert, [
    rows.map((row) => row.accountId),
    rows.map((row) => row.id),
    timestamps(rows.map((row) => row.at)),
    rows.map((row) => row.method),
    rows.map((row) => row.route),
    rows.map((row) => row.status),
    rows.map((row) => row.errorCode),
    rows.map((row) => row.keyId),
    rows.map((row) => row.requestId),
    rows.map((row) => row.clientRequestId),
    rows.map((row) => row.durationMs),
    rows.map((row) => row.ip),
    rows.map((row) => row.operationId),
    rows.map((row) => row.paymentId),
    rows.map((row) => (row.body === null ? null : JSON.stringify(row.body))),
    rows.map((row) => row.leftOut),
  ]);

/** As it is shown: with the name that its key has now. */
export type ShownRequest = Omit<LoggedRequest, 'accountId'> & { keyName: string | null };

export interface RequestFilter {
  method: string | null;
  /** 2 for 200 to 299, and so on. */
  statusClass: number | null;
  keyId: string | null;
  paymentId: string | null;
  /** `X-Request-Id` of the answer, or the one that was sent. */
  requestId: string | null;
  /** From this id on and below the other: ids are ordered by time. */
  fromId: string;
  belowId: string;
}

const columns = `r.id, r.at, r.method, r.route, r.status, r.error_code AS "errorCode", r.key_id AS "keyId", k.name AS "keyName",
  r.request_id AS "requestId", r.client_request_id AS "clientRequestId", r.duration_ms AS "durationMs", r.ip,
  r.operation_id AS "operationId", r.payment_id AS "paymentId", r.body, r.left_out AS "leftOut"`;

const fits = `($3::text IS NULL OR r.method = $3) AND ($4::integer IS NULL OR r.status / 100 = $4) AND ($5::text IS NULL OR r.key_id = $5)
      AND ($9::text IS NULL OR r.request_id = $9 OR r.client_request_id = $9)`;

const selectPage: Statement = {
  name: 'request_log_page',
  text: `SELECT ${columns}
    FROM (SELECT * FROM request_log WHERE account_id = $1 AND id < $2 AND id >= $8 ORDER BY id DESC LIMIT $7) r
      LEFT JOIN api_key k ON k.account_id = $1 AND k.id = r.key_id
    WHERE ${fits} ORDER BY r.id DESC LIMIT $6`,
};

const selectOfPayment: Statement = {
  name: 'request_log_of_payment',
  text: `SELECT ${columns}
    FROM (SELECT * FROM request_log WHERE account_id = $1 AND payment_id = $10 AND id < $2 AND id >= $8 ORDER BY id DESC LIMIT $7) r
      LEFT JOIN api_key k ON k.account_id = $1 AND k.id = r.key_id
    WHERE ${fits} ORDER BY r.id DESC LIMIT $6`,
};

/** Those below an id that fit, newest first, of the `scanned` that come next. */
export function findRequests(
  sql: Queries,
  accountId: string,
  below: string,
  { method, statusClass, keyId, paymentId, requestId, fromId }: RequestFilter,
  limit: number,
  scanned: number,
): Promise<ShownRequest[]> {
  const values = [accountId, below, method, statusClass, keyId, limit, scanned, fromId, requestId];
  return paymentId === null
    ? sql.run<ShownRequest>(selectPage, values)
    : sql.run<ShownRequest>(selectOfPayment, [...values, paymentId]);
}

const selectPlace: Statement = {
  name: 'request_log_place',
  text: `SELECT id FROM request_log WHERE account_id = $1 AND id < $2 AND id >= $4 ORDER BY id DESC OFFSET $3 LIMIT 1`,
};

/** The id of the last of the next `count` rows; undefined: there are fewer. */
export const findPlace = async (
  sql: Queries,
  accountId: string,
  below: string,
  fromId: string,
  count: number,
): Promise<string | undefined> =>
  (await sql.run<{ id: string }>(selectPlace, [accountId, below, count - 1, fromId]))[0]?.id;

const prune: Statement = {
  name: 'request_log_prune',
  text: `DELETE FROM request_log r USING (
      SELECT account_id, id FROM request_log WHERE at < $1 ORDER BY at LIMIT $2) AS old
    WHERE r.account_id = old.account_id AND r.id = old.id RETURNING r.id`,
};

/** @returns how many were removed */
export const pruneRequests = async (sql: Queries, beforeMs: number, most: number): Promise<number> =>
  (await sql.run(prune, [timestamp(beforeMs), most])).length;
