import type { Queries, Sql, Statement } from '../../ports/sql.ts';
import type { PixKeyType } from '../../provider/provider.ts';
import { timestamp } from '../../store/database/pool.ts';
import { lockAccount } from '../../store/rows/lock.sql.ts';

export interface SavedReceiver {
  id: string;
  name: string;
  pixKeyType: PixKeyType;
  /** Sealed under `id`. */
  pixKey: Buffer;
  createdAt: number;
}

const select: Statement = {
  name: 'saved_receivers',
  text: `SELECT id, name, pix_key_type AS "pixKeyType", pix_key AS "pixKey", created_at AS "createdAt"
    FROM saved_receiver WHERE account_id = $1 ORDER BY id`,
};

/** In the order in which they were saved. */
export const findReceivers = (sql: Queries, accountId: string): Promise<SavedReceiver[]> =>
  sql.run<SavedReceiver>(select, [accountId]);

const count: Statement = {
  name: 'saved_receiver_count',
  text: 'SELECT count(*)::integer AS count FROM saved_receiver WHERE account_id = $1',
};

const insert: Statement = {
  name: 'saved_receiver_add',
  text: `INSERT INTO saved_receiver (account_id, id, name, pix_key_type, pix_key, created_by, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)`,
};

/** Counts and saves under the account's lock, so that requests at the same moment stay within `most`. @returns whether there was room */
export const insertReceiver = (
  sql: Sql,
  accountId: string,
  { id, name, pixKeyType, pixKey, createdAt }: SavedReceiver,
  { userId, most }: { userId: string; most: number },
): Promise<boolean> =>
  sql.tx(async (tx) => {
    await lockAccount(tx, accountId);
    const [saved] = await tx.run<{ count: number }>(count, [accountId]);
    if (saved === undefined || saved.count >= most) return false;
    await tx.run(insert, [accountId, id, name, pixKeyType, pixKey, userId, timestamp(createdAt)]);
    return true;
  });

const remove: Statement = {
  name: 'saved_receiver_remove',
  text: 'DELETE FROM saved_receiver WHERE account_id = $1 AND id = $2 RETURNING id',
};

/** @returns whether it was there */
export const deleteReceiver = async (sql: Queries, accountId: string, id: string): Promise<boolean> =>
  (await sql.run(remove, [accountId, id])).length > 0;
