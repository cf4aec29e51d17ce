import { timestamp } from '../db/pool.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import type { Permission } from './permissions.ts';

/** A key as the edge needs it, with its account. */
export interface StoredKey {
  id: string;
  accountId: string;
  accountNumber: number;
  test: boolean;
  permissions: Permission[];
  hash: Buffer;
  pepperId: string;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

const selectKey: Statement = {
  name: 'key_read',
  text: `SELECT k.id, k.account_id AS "accountId", a.number AS "accountNumber", a.test, k.permissions, k.hash,
      k.pepper_id AS "pepperId", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.last_used_at AS "lastUsedAt"
    FROM api_key k JOIN account a ON a.id = k.account_id WHERE k.id = $1`,
};

export const findKey = async (sql: Queries, id: string): Promise<StoredKey | undefined> =>
  (await sql.run<StoredKey>(selectKey, [id]))[0];

const touch: Statement = {
  name: 'key_touch',
  text: `UPDATE api_key SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`,
};

export const touchKey = (sql: Queries, id: string, nowMs: number): Promise<unknown> =>
  sql.run(touch, [id, timestamp(nowMs)]);

const insert: Statement = {
  name: 'key_insert',
  text: `INSERT INTO api_key (id, account_id, name, permissions, hash, pepper_id, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)`,
};

export interface NewKey {
  id: string;
  accountId: string;
  name: string;
  permissions: readonly Permission[];
  hash: Buffer;
  pepperId: string;
  createdAt: number;
}

export const insertKey = (tx: Queries, key: NewKey): Promise<unknown> =>
  tx.run(insert, [
    key.id,
    key.accountId,
    key.name,
    key.permissions,
    key.hash,
    key.pepperId,
    timestamp(key.createdAt),
  ]);

const revoke: Statement = {
  name: 'key_revoke',
  text: `UPDATE api_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL`,
};

export const markRevoked = (tx: Queries, id: string, nowMs: number): Promise<unknown> =>
  tx.run(revoke, [id, timestamp(nowMs)]);

export interface ListedKey {
  id: string;
  name: string;
  permissions: Permission[];
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
}

const list: Statement = {
  name: 'key_list',
  text: `SELECT id, name, permissions, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt",
      last_used_at AS "lastUsedAt"
    FROM api_key WHERE account_id = $1 ORDER BY created_at, id`,
};

export const selectKeys = (sql: Queries, accountId: string): Promise<ListedKey[]> =>
  sql.run<ListedKey>(list, [accountId]);
