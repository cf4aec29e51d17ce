import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../database/pool.ts';
import type { Derived } from '../database/table.ts';
import type { KeyUse } from './idempotency.ts';

/** A request key that was used for an operation, a webhook or a refund. Those of payments are the payments themselves. */
export interface TakenKey {
  accountId: string;
  requestKey: string;
  resource: string;
}

const select: Statement = {
  name: 'request_key_taken',
  text: `SELECT account_id AS "accountId", request_key AS "requestKey", resource
    FROM request_key JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, request_key) USING (account_id, request_key)
    UNION ALL SELECT account_id, request_key, 'refund'
    FROM refund JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, request_key) USING (account_id, request_key)`,
};

/**
 * Keyed by 36 characters of account and 36 of request key. Put beside a refund, so that a later command of the same flush sees its key;
 * what is stored is the refund itself.
 */
export const takenKeys: Derived<TakenKey> = {
  name: 'request_key',
  isDerived: true,
  keyOf: (row) => row.accountId + row.requestKey,
  read: (tx, keys) =>
    tx.run<TakenKey>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};

const selectUse: Statement = {
  name: 'request_key_use',
  text: `SELECT resource, resource_id AS "resourceId", fingerprint FROM request_key WHERE account_id = $1 AND request_key = $2
    UNION ALL SELECT 'payment', id, fingerprint FROM payment WHERE account_id = $1 AND id = $3
    UNION ALL SELECT 'refund', id, fingerprint FROM refund WHERE account_id = $1 AND id = $3`,
};

/** The use of a request key: an operation or a webhook by the table, a payment or a refund by its id. */
export const findKeyUse = async (
  tx: Queries,
  accountId: string,
  requestKey: string,
  paymentId: string,
): Promise<KeyUse | undefined> => (await tx.run<KeyUse>(selectUse, [accountId, requestKey, paymentId]))[0];

const insertUse: Statement = {
  name: 'request_key_insert',
  text: `INSERT INTO request_key (account_id, request_key, resource, resource_id, fingerprint, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)`,
};

/** Of an operation or a webhook; under the lock of the account. */
export const insertKeyUse = (
  tx: Queries,
  accountId: string,
  requestKey: string,
  { resource, resourceId, fingerprint }: KeyUse,
  nowMs: number,
): Promise<unknown> =>
  tx.run(insertUse, [accountId, requestKey, resource, resourceId, fingerprint, timestamp(nowMs)]);
