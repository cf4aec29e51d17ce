import type { Permission } from '../../ground/permissions.ts';
import type { Quotas } from '../../ground/quotas.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';

/** A key as the edge needs it, with its account. */
export interface StoredKey {
  id: string;
  accountId: string;
  accountNumber: number;
  test: boolean;
  connection: string;
  chargeFallback: string[];
  permissions: Permission[];
  hash: Buffer;
  pepperId: string;
  ips: string[];
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  wokenAt: number | null;
  /** The rate limits of the account's own. */
  quotas: Quotas;
  /** The cell of its account. */
  cell: string;
}

const selectKey: Statement = {
  name: 'key_read',
  text: `SELECT k.id, k.account_id AS "accountId", a.number AS "accountNumber", a.test, a.connection, a.charge_fallback AS "chargeFallback", k.permissions, k.hash,
      k.pepper_id AS "pepperId", k.ips, k.created_at AS "createdAt", k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt",
      k.last_used_at AS "lastUsedAt", k.woken_at AS "wokenAt", a.rate_quotas AS quotas,
      a.cell
    FROM api_key k JOIN account a ON a.id = k.account_id WHERE k.id = $1`,
};

export const findKey = async (sql: Queries, id: string): Promise<StoredKey | undefined> =>
  (await sql.run<StoredKey>(selectKey, [id]))[0];

const touch: Statement = {
  name: 'key_touch',
  text: `UPDATE api_key SET last_used_at = $2, last_used_ip = $3, last_used_agent = $4
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`,
};

export const touchKey = (
  sql: Queries,
  id: string,
  use: { at: number; ip: string; agent: string | null },
): Promise<unknown> => sql.run(touch, [id, timestamp(use.at), use.ip, use.agent]);

const insert: Statement = {
  name: 'key_insert',
  text: `INSERT INTO api_key (id, account_id, name, permissions, ips, hash, pepper_id, created_at, expires_at, created_by)
    VALUES ($1, $2, $3, $4::text[], $5::text[], $6, $7, $8, $9, $10)`,
};

export interface NewKey {
  id: string;
  accountId: string;
  name: string;
  permissions: readonly Permission[];
  ips: readonly string[];
  hash: Buffer;
  pepperId: string;
  createdAt: number;
  expiresAt: number | null;
  /** The person who made it in the panel; null: the operator. */
  createdBy: string | null;
}

export const insertKey = (tx: Queries, key: NewKey): Promise<unknown> =>
  tx.run(insert, [
    key.id,
    key.accountId,
    key.name,
    key.permissions,
    key.ips,
    key.hash,
    key.pepperId,
    timestamp(key.createdAt),
    key.expiresAt === null ? null : timestamp(key.expiresAt),
    key.createdBy,
  ]);

const revoke: Statement = {
  name: 'key_revoke',
  text: `UPDATE api_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL`,
};

export const markRevoked = (tx: Queries, id: string, nowMs: number): Promise<unknown> =>
  tx.run(revoke, [id, timestamp(nowMs)]);

const rolled: Statement = {
  name: 'key_rolled',
  text: `UPDATE api_key SET rolled_to = $2, expires_at = least(expires_at, $3) WHERE id = $1`,
};

/** The key ends at `endsAtMs` at the latest, and its name is its successor's. */
export const markRolled = (
  tx: Queries,
  id: string,
  successorId: string,
  endsAtMs: number,
): Promise<unknown> => tx.run(rolled, [id, successorId, timestamp(endsAtMs)]);

const narrow: Statement = {
  name: 'key_narrow',
  text: `UPDATE api_key SET permissions = $2::text[] WHERE id = $1`,
};

export const setPermissions = (
  tx: Queries,
  id: string,
  permissions: readonly Permission[],
): Promise<unknown> => tx.run(narrow, [id, permissions]);

const wake: Statement = {
  name: 'key_wake',
  text: `UPDATE api_key SET woken_at = $2 WHERE id = $1`,
};

export const markWoken = (tx: Queries, id: string, nowMs: number): Promise<unknown> =>
  tx.run(wake, [id, timestamp(nowMs)]);

export interface ListedKey {
  id: string;
  name: string;
  permissions: Permission[];
  /** Addresses and networks; empty: from everywhere. */
  ips: string[];
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
  /** Its successor. */
  rolledTo: string | null;
  lastUsedAt: number | null;
  lastUsedIp: string | null;
  /** The first word of the caller's User-Agent. */
  lastUsedAgent: string | null;
  wokenAt: number | null;
  /** The person who made it in the panel; null: the operator. */
  createdBy: string | null;
}

const list: Statement = {
  name: 'key_list',
  text: `SELECT id, name, permissions, ips, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt",
      rolled_to AS "rolledTo", last_used_at AS "lastUsedAt", last_used_ip AS "lastUsedIp", last_used_agent AS "lastUsedAgent", created_by AS "createdBy",
      woken_at AS "wokenAt"
    FROM api_key WHERE account_id = $1 ORDER BY created_at, id`,
};

export const selectKeys = (sql: Queries, accountId: string): Promise<ListedKey[]> =>
  sql.run<ListedKey>(list, [accountId]);

export interface UnusedKey {
  id: string;
  accountId: string;
  accountName: string;
  name: string;
  permissions: Permission[];
  /** When it was last used, made or woken. */
  usedAt: number;
}

const claimUnused: Statement = {
  name: 'key_claim_unused',
  text: `WITH due AS (
      SELECT k.id FROM api_key k
      WHERE greatest(k.created_at, k.last_used_at, k.woken_at) <= $2
        AND (k.warned_at IS NULL OR k.warned_at < greatest(k.last_used_at, k.woken_at))
        AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $1)
        AND (k.warning_until IS NULL OR k.warning_until <= $1)
      ORDER BY k.id LIMIT $4 FOR UPDATE SKIP LOCKED)
    UPDATE api_key k SET warning_until = $3 FROM due WHERE k.id = due.id
    RETURNING k.id, k.account_id AS "accountId", k.name, k.permissions,
      greatest(k.created_at, k.last_used_at, k.woken_at) AS "usedAt"`,
};

const accountNames: Statement = {
  name: 'key_account_names',
  text: `SELECT id, name FROM account WHERE id = ANY ($1::uuid[])`,
};

/** Takes active keys without use since then that no mail has reported. Hidden from other processes until `until`. */
export async function claimUnusedKeys(
  sql: Queries,
  nowMs: number,
  { since, until, most }: { since: number; until: number; most: number },
): Promise<UnusedKey[]> {
  const keys = await sql.run<Omit<UnusedKey, 'accountName'>>(claimUnused, [
    timestamp(nowMs),
    timestamp(since),
    timestamp(until),
    most,
  ]);
  return withAccountNames(sql, keys);
}

/** The same keys with the names of their accounts. */
export async function withAccountNames<Key extends { accountId: string }>(
  sql: Queries,
  keys: readonly Key[],
): Promise<(Key & { accountName: string })[]> {
  if (keys.length === 0) return [];
  const rows = await sql.run<{ id: string; name: string }>(accountNames, [
    keys.map(({ accountId }) => accountId),
  ]);
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return keys.map((key) => ({ ...key, accountName: names.get(key.accountId) ?? '' }));
}

const warned: Statement = {
  name: 'key_warned',
  text: `UPDATE api_key SET warned_at = $2, warning_until = NULL WHERE id = $1`,
};

export const markWarned = (sql: Queries, id: string, nowMs: number): Promise<unknown> =>
  sql.run(warned, [id, timestamp(nowMs)]);
