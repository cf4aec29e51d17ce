import type { Queries, Statement } from '../../ports/sql.ts';
import { later } from '../../store/database/later.ts';
import { timestamp } from '../../store/database/pool.ts';

export interface Endpoint {
  accountId: string;
  id: string;
  url: string;
  /** `['*']`: every type. */
  events: string[];
  description: string | null;
  operationIds: string[] | null;
  schemaVersion: number;
  enabled: boolean;
  disabledReason: DisabledReason | null;
  disabledAt: number | null;
  /** Sealed. */
  secret: Buffer;
  secretHint: string;
  previousSecret: Buffer | null;
  previousSecretUntil: number | null;
  failedAttempts: number;
  failedDeliveries: number;
  failingSince: number | null;
  createdAt: number;
  updatedAt: number;
  deletedAt: number | null;
}

/** `by_request`: a person switched it off; `gone`: it answered 410; `failing`: five days without one success. */
export type DisabledReason = 'by_request' | 'gone' | 'failing';

const columns = `account_id AS "accountId", id, url, events, description, operation_ids AS "operationIds",
  schema_version AS "schemaVersion", enabled, disabled_reason AS "disabledReason", disabled_at AS "disabledAt", secret,
  secret_hint AS "secretHint", previous_secret AS "previousSecret", previous_secret_until AS "previousSecretUntil",
  failed_attempts AS "failedAttempts", failed_deliveries AS "failedDeliveries", failing_since AS "failingSince",
  created_at AS "createdAt", updated_at AS "updatedAt", deleted_at AS "deletedAt"`;

const selectAll: Statement = {
  name: 'webhook_list',
  text: `SELECT ${columns} FROM webhook_endpoint WHERE account_id = $1 AND deleted_at IS NULL ORDER BY created_at, id`,
};

/** The oldest first. */
export const findEndpoints = (sql: Queries, accountId: string): Promise<Endpoint[]> =>
  sql.run<Endpoint>(selectAll, [accountId]);

const selectOne: Statement = {
  name: 'webhook_read',
  text: `SELECT ${columns} FROM webhook_endpoint WHERE account_id = $1 AND id = $2`,
};

/** Deleted ones included. */
export const findEndpoint = async (
  sql: Queries,
  accountId: string,
  id: string,
): Promise<Endpoint | undefined> => (await sql.run<Endpoint>(selectOne, [accountId, id]))[0];

const insert: Statement = {
  name: 'webhook_insert',
  text: `INSERT INTO webhook_endpoint (account_id, id, url, events, description, operation_ids, schema_version, enabled, secret,
      secret_hint, created_at, updated_at)
    VALUES ($1, $2, $3, $4::text[], $5, $6::uuid[], $7, true, $8, $9, $10, $10)`,
};

const insertQueue: Statement = {
  name: 'webhook_lane_insert',
  text: `INSERT INTO webhook_lane (account_id, endpoint_id) VALUES ($1, $2)`,
};

/** The endpoint and its empty queue. */
export function insertEndpoint(tx: Queries, endpoint: Endpoint): Promise<unknown> {
  const { accountId, id } = endpoint;
  return Promise.all([
    tx.run(insert, [
      accountId,
      id,
      endpoint.url,
      endpoint.events,
      endpoint.description,
      endpoint.operationIds,
      endpoint.schemaVersion,
      endpoint.secret,
      endpoint.secretHint,
      timestamp(endpoint.createdAt),
    ]),
    tx.run(insertQueue, [accountId, id]),
  ]);
}

const update: Statement = {
  name: 'webhook_update',
  text: `UPDATE webhook_endpoint SET url = $3, events = $4::text[], description = $5, operation_ids = $6::uuid[], enabled = $7,
      disabled_reason = $8, disabled_at = $9, updated_at = $10
    WHERE account_id = $1 AND id = $2`,
};

/** The fields that a merchant may change. */
export const updateEndpoint = (tx: Queries, endpoint: Endpoint): Promise<unknown> =>
  tx.run(update, [
    endpoint.accountId,
    endpoint.id,
    endpoint.url,
    endpoint.events,
    endpoint.description,
    endpoint.operationIds,
    endpoint.enabled,
    endpoint.disabledReason,
    endpoint.disabledAt === null ? null : timestamp(endpoint.disabledAt),
    timestamp(endpoint.updatedAt),
  ]);

const updateSecret: Statement = {
  name: 'webhook_rotate',
  text: `UPDATE webhook_endpoint SET previous_secret = $3, previous_secret_until = $4, secret = $5, secret_hint = $6,
      updated_at = $7
    WHERE account_id = $1 AND id = $2`,
};

export const updateSecrets = (tx: Queries, endpoint: Endpoint): Promise<unknown> =>
  tx.run(updateSecret, [
    endpoint.accountId,
    endpoint.id,
    endpoint.previousSecret,
    endpoint.previousSecretUntil === null ? null : timestamp(endpoint.previousSecretUntil),
    endpoint.secret,
    endpoint.secretHint,
    timestamp(endpoint.updatedAt),
  ]);

const markDeleted: Statement = {
  name: 'webhook_delete',
  text: `UPDATE webhook_endpoint SET deleted_at = $3, updated_at = $3 WHERE account_id = $1 AND id = $2`,
};

const stopQueue: Statement = {
  name: 'webhook_lane_stop',
  text: `UPDATE webhook_lane SET due_at = NULL, wakes = wakes + 1 WHERE account_id = $1 AND endpoint_id = $2`,
};

/** Stops all deliveries to the endpoint; queued ones stay. */
export const stopDelivering = (tx: Queries, accountId: string, id: string): Promise<unknown> =>
  tx.run(stopQueue, [accountId, id]);

export const deleteEndpoint = (tx: Queries, accountId: string, id: string, nowMs: number): Promise<unknown> =>
  Promise.all([tx.run(markDeleted, [accountId, id, timestamp(nowMs)]), stopDelivering(tx, accountId, id)]);

const wakeQueue: Statement = {
  name: 'webhook_lane_wake',
  text: `UPDATE webhook_lane SET due_at = least(due_at, $3), wakes = wakes + 1 WHERE account_id = $1 AND endpoint_id = $2`,
};

/** Something waits for the endpoint since `atMs`. */
export const wakeDelivering = (tx: Queries, accountId: string, id: string, atMs: number): Promise<unknown> =>
  tx.run(wakeQueue, [accountId, id, timestamp(atMs)]);

const forgetFailures: Statement = {
  name: 'webhook_forget_failures',
  text: `UPDATE webhook_endpoint SET failed_attempts = 0, failed_deliveries = 0, failing_since = NULL, told = 0, tell_after = NULL
    WHERE account_id = $1 AND id = $2`,
};

/** A new start, for an endpoint that is switched on again. */
export const clearHealth = (tx: Queries, accountId: string, id: string): Promise<unknown> =>
  tx.run(forgetFailures, [accountId, id]);

const disable: Statement = {
  name: 'webhook_disable',
  text: `UPDATE webhook_endpoint SET enabled = false, disabled_reason = $3, disabled_at = $4, updated_at = $4
    WHERE account_id = $1 AND id = $2 AND enabled AND deleted_at IS NULL`,
};

export const disableEndpoint = (
  tx: Queries,
  accountId: string,
  id: string,
  reason: DisabledReason,
  nowMs: number,
): Promise<unknown> =>
  Promise.all([
    tx.run(disable, [accountId, id, reason, timestamp(nowMs)]),
    stopDelivering(tx, accountId, id),
  ]);

// ------------------------------------------------------------------------------------------------------------- URL changes

const pruneChanges: Statement = {
  name: 'webhook_url_change_prune',
  text: `DELETE FROM webhook_url_change c USING (
      SELECT account_id, changed_at FROM webhook_url_change WHERE changed_at <= $1 ORDER BY changed_at LIMIT $2) AS old
    WHERE c.account_id = old.account_id AND c.changed_at = old.changed_at
    RETURNING 1 AS pruned`,
};

/** @returns how many were removed */
export const pruneUrlChanges = async (sql: Queries, beforeMs: number, most: number): Promise<number> =>
  (await sql.run(pruneChanges, [timestamp(beforeMs), most])).length;

const selectChanges: Statement = {
  name: 'webhook_url_changes',
  text: `SELECT changed_at AS "changedAt" FROM webhook_url_change WHERE account_id = $1 AND changed_at > $2 ORDER BY changed_at`,
};

/** When the account changed addresses after `sinceMs`, the oldest first. */
export const findUrlChanges = async (tx: Queries, accountId: string, sinceMs: number): Promise<number[]> =>
  (await tx.run<{ changedAt: number }>(selectChanges, [accountId, timestamp(sinceMs)])).map(
    ({ changedAt }) => changedAt,
  );

const insertChange: Statement = {
  name: 'webhook_url_change_insert',
  text: `INSERT INTO webhook_url_change (account_id, changed_at) VALUES ($1, $2)`,
};

export const insertUrlChange = (tx: Queries, accountId: string, nowMs: number): Promise<unknown> =>
  tx.run(insertChange, [accountId, timestamp(nowMs)]);

// ------------------------------------------------------------------------------------------------------------------- mails

/** An endpoint whose state calls for another mail than the last one was. */
export interface Unwell {
  accountId: string;
  accountName: string;
  id: string;
  url: string;
  disabledReason: DisabledReason | null;
  failedAttempts: number;
  failedDeliveries: number;
  failingSince: number;
  told: number;
}

const selectDeleted: Statement = {
  name: 'webhook_deleted_since',
  text: `SELECT 1 FROM webhook_endpoint WHERE account_id = $1 AND deleted_at > $2 LIMIT 1`,
};

/** Whether an endpoint of the account was removed since then. */
export const wasDeletedSince = async (tx: Queries, accountId: string, sinceMs: number): Promise<boolean> =>
  (await tx.run(selectDeleted, [accountId, timestamp(sinceMs)])).length > 0;

const claimUnwell: Statement = {
  name: 'webhook_claim_unwell',
  text: `WITH due AS (
      SELECT w.account_id, w.id FROM webhook_endpoint w
      WHERE w.failing_since IS NOT NULL AND w.told < 4 AND w.deleted_at IS NULL AND w.tell_after <= $1
      ORDER BY w.account_id, w.id LIMIT 100 FOR UPDATE SKIP LOCKED)
    UPDATE webhook_endpoint w SET tell_after = $2 FROM due, account a
    WHERE w.account_id = due.account_id AND w.id = due.id AND a.id = w.account_id
    RETURNING w.account_id AS "accountId", a.name AS "accountName", w.id, w.url, w.disabled_reason AS "disabledReason",
      w.failed_attempts AS "failedAttempts", w.failed_deliveries AS "failedDeliveries", w.failing_since AS "failingSince",
      w.told`,
};

/** Those to look at again; they are out of sight of the others until `againMs`. */
export const claimUnwellEndpoints = (sql: Queries, nowMs: number, againMs: number): Promise<Unwell[]> =>
  sql.run<Unwell>(claimUnwell, [timestamp(nowMs), timestamp(againMs)]);

const markTold: Statement = {
  name: 'webhook_mark_told',
  text: `UPDATE webhook_endpoint SET told = $3 WHERE account_id = $1 AND id = $2 AND failing_since IS NOT NULL`,
};

export const markEndpointTold = (
  sql: Queries,
  accountId: string,
  id: string,
  told: number,
): Promise<unknown> => sql.run(markTold, [accountId, id, told]);

const shift: Statement = {
  name: 'webhook_shift',
  text: `UPDATE webhook_endpoint SET failing_since = ${later('failing_since', '-$2::double precision')},
      tell_after = ${later('tell_after', '-$2::double precision')},
      previous_secret_until = ${later('previous_secret_until', '-$2::double precision')}
    WHERE account_id = $1 AND deleted_at IS NULL`,
};

/** Lets time pass for an account's endpoints: test clocks. */
export const shiftEndpoints = (tx: Queries, accountId: string, byMs: number): Promise<unknown> =>
  tx.run(shift, [accountId, byMs]);
