import type { Readable } from '../ledger/till.ts';
import type { Statement } from '../ports/sql.ts';

/** A request key that was used for an operation or a webhook. Those of payments are the payments themselves. */
export interface TakenKey {
  accountId: string;
  requestKey: string;
  resource: string;
}

const select: Statement = {
  name: 'request_key_taken',
  text: `SELECT account_id AS "accountId", request_key AS "requestKey", resource
    FROM request_key JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, request_key) USING (account_id, request_key)`,
};

/** Keyed by 36 characters of account and 36 of request key. */
export const takenKeys: Readable<TakenKey> = {
  name: 'request_key',
  keyOf: (row) => row.accountId + row.requestKey,
  read: (tx, keys) =>
    tx.run<TakenKey>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
};
