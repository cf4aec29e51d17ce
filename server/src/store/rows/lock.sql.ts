import type { Queries, Statement } from '../../ports/sql.ts';

/** A balance row under the account's lock: an operation's, or under the account's own id that of its second chain. */
export interface LockedBalance {
  operationId: string;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  holdWanted: number;
  cardHeld: number;
  seq: number;
  head: Buffer;
}

const lockRow: Statement = {
  name: 'account_lock',
  text: `SELECT test, cell = current_schema() AS "isHere" FROM account WHERE id = $1 FOR NO KEY UPDATE`,
};

const lockBalances: Statement = {
  name: 'account_lock_balances',
  text: `SELECT operation_id AS "operationId", available, reserved, held, receivable, hold_wanted AS "holdWanted", card_held AS "cardHeld", seq, head
    FROM balance WHERE account_id = $1 AND deleted_at IS NULL ORDER BY account_id, operation_id FOR NO KEY UPDATE`,
};

/**
 * Puts what changes only the directory's rows of an account (its people) in order, one after the other. It stops no till.
 */
export const lockDirectoryOf = (tx: Queries, accountId: string): Promise<unknown> =>
  tx.run(lockRow, [accountId]);

/**
 * Stops every till on this account until the transaction ends: locks the account's row, then its balance rows in key order. The rows of
 * deleted operations are left out: they take no new payments, and an account may have thousands.
 * A change of data that a till reads without locking it (conditions, keys, operations, request keys) must hold these locks, so
 * that no batch with the old value is open when the change is answered.
 *
 * Issue reads that depend on the lock only after awaiting this call: a statement sees what was committed before it
 * began, not before its lock was granted. (The two statements here run one after the other on their connection, so the second
 * sees every operation that the previous holder of the lock created.)
 * @throws Error the account is of another cell: its row is in the directory, the balances that its tills lock are not here
 */
export async function lockAccount(
  tx: Queries,
  accountId: string,
): Promise<{ test: boolean; balances: LockedBalance[] } | undefined> {
  const rows = tx.run<{ test: boolean; isHere: boolean }>(lockRow, [accountId]);
  const balances = tx.run<LockedBalance>(lockBalances, [accountId]);
  const account = (await rows)[0];
  if (!account) return undefined;
  if (!account.isHere) throw new Error(`account ${accountId} is of another cell: its tills would not stop`);
  return { test: account.test, balances: await balances };
}
