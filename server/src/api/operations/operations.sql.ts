import type { Queries, Statement } from '../../ports/sql.ts';
import { later } from '../../store/database/later.ts';
import { timestamp } from '../../store/database/pool.ts';
import { isRestored } from '../../store/rows/conditions.sql.ts';

export interface OperationRow {
  id: string;
  name: string;
  main: boolean;
  createdAt: number;
  balanceCents: number;
  balanceUpdatedAt: number;
}

const columns = `o.id, o.name, o.main IS TRUE AS main, o.created_at AS "createdAt",
  b.available - b.receivable AS "balanceCents", b.updated_at AS "balanceUpdatedAt"`;

const selectLive: Statement = {
  name: 'operation_list',
  text: `SELECT ${columns} FROM operation o JOIN balance b ON b.account_id = o.account_id AND b.operation_id = o.id
    WHERE o.account_id = $1 AND o.deleted_at IS NULL ORDER BY o.created_at, o.id`,
};

/** The account's operations, the oldest first. */
export const findOperations = (sql: Queries, accountId: string): Promise<OperationRow[]> =>
  sql.run<OperationRow>(selectLive, [accountId]);

const selectOne: Statement = {
  name: 'operation_read',
  text: `SELECT ${columns} FROM operation o JOIN balance b ON b.account_id = o.account_id AND b.operation_id = o.id
    WHERE o.account_id = $1 AND o.id = $2 AND o.deleted_at IS NULL`,
};

export const findOperation = async (
  sql: Queries,
  accountId: string,
  id: string,
): Promise<OperationRow | undefined> => (await sql.run<OperationRow>(selectOne, [accountId, id]))[0];

const selectIds: Statement = {
  name: 'operation_ids',
  text: `SELECT id, main IS TRUE AS main FROM operation WHERE account_id = $1 AND deleted_at IS NULL`,
};

export const findOperationIds = (sql: Queries, accountId: string): Promise<{ id: string; main: boolean }[]> =>
  sql.run(selectIds, [accountId]);

export interface OperationState {
  id: string;
  slot: number | null;
  main: boolean;
  createdAt: number;
  deletedAt: number | null;
}

const selectStates: Statement = {
  name: 'operation_states',
  text: `SELECT id, slot, main IS TRUE AS main, created_at AS "createdAt", deleted_at AS "deletedAt"
      FROM operation WHERE account_id = $1 AND deleted_at IS NULL
    UNION ALL SELECT id, slot, false, created_at, deleted_at FROM operation WHERE account_id = $1 AND id = $2 AND deleted_at IS NOT NULL
    ORDER BY "createdAt", id`,
};

/** Every live operation, and the one asked for even if it was deleted; the oldest first. */
export const findStates = (tx: Queries, accountId: string, id: string): Promise<OperationState[]> =>
  tx.run<OperationState>(selectStates, [accountId, id]);

const insert: Statement = {
  name: 'operation_insert',
  text: `INSERT INTO operation (account_id, id, name, slot, main, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)`,
};

const insertBalance: Statement = {
  name: 'operation_insert_balance',
  text: `INSERT INTO balance (account_id, operation_id, head, updated_at) VALUES ($1, $2, $3, $4)`,
};

export interface NewOperation {
  accountId: string;
  id: string;
  name: string;
  slot: number;
  main: boolean;
  createdAt: number;
  /** Of the empty chain. */
  head: Buffer;
}

/** The operation and its empty balance. */
export function insertOperation(tx: Queries, operation: NewOperation): Promise<unknown> {
  const at = timestamp(operation.createdAt);
  return Promise.all([
    tx.run(insert, [
      operation.accountId,
      operation.id,
      operation.name,
      operation.slot,
      operation.main || null,
      at,
    ]),
    tx.run(insertBalance, [operation.accountId, operation.id, operation.head, at]),
  ]);
}

const rename: Statement = {
  name: 'operation_rename',
  text: `UPDATE operation SET name = $3, updated_at = greatest($4, ${later('updated_at', '1')})
    WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL AND name <> $3 RETURNING id`,
};

/** @returns whether the name changed */
export const renameRow = async (
  tx: Queries,
  accountId: string,
  id: string,
  name: string,
  nowMs: number,
): Promise<boolean> => (await tx.run(rename, [accountId, id, name, timestamp(nowMs)])).length > 0;

const markDeleted: Statement = {
  name: 'operation_delete',
  text: `UPDATE operation SET deleted_at = $3, updated_at = $3, slot = NULL, main = NULL WHERE account_id = $1 AND id = $2`,
};

const markBalanceDeleted: Statement = {
  name: 'operation_delete_balance',
  text: `UPDATE balance SET deleted_at = $3 WHERE account_id = $1 AND operation_id = $2`,
};

const makeMain: Statement = {
  name: 'operation_make_main',
  text: `UPDATE operation SET main = true, updated_at = $3 WHERE account_id = $1 AND id = $2`,
};

/** @param nextMain takes over as the main operation; null when it was not the main one that went */
export function deleteRow(
  tx: Queries,
  accountId: string,
  id: string,
  nextMain: string | null,
  nowMs: number,
): Promise<unknown> {
  const at = timestamp(nowMs);
  const writes = [tx.run(markDeleted, [accountId, id, at])];
  if (nextMain !== null) writes.push(tx.run(makeMain, [accountId, nextMain, at]));
  writes.push(tx.run(markBalanceDeleted, [accountId, id, at]));
  return Promise.all(writes);
}

const selectObstacles: Statement = {
  name: 'operation_obstacles',
  text: `SELECT
      EXISTS (SELECT FROM payment WHERE account_id = $1 AND operation_id = $2 AND status IN ('draft', 'unknown', 'pending'))
        OR EXISTS (SELECT FROM payment WHERE account_id = $1 AND operation_id = $2 AND card ->> 'settlement' = 'held')
        OR EXISTS (SELECT FROM incident WHERE account_id = $1 AND operation_id = $2 AND state = 'open') AS unfinished,
      EXISTS (SELECT FROM incident WHERE account_id = $1 AND kind = 'divergence' AND state = 'open') AS diverged`,
};

export interface Obstacles {
  /** A payment that is not final, a card payment that is not released (its fee is still to come, also where all of it went back), or an open incident. */
  unfinished: boolean;
  /** `verify` found an invariant of the account broken, and the incident is still open. */
  diverged: boolean;
  /** A backup was restored and the provider's lists have not been compared since. */
  unconfirmed: boolean;
}

export const findObstacles = async (
  tx: Queries,
  accountId: string,
  operationId: string,
): Promise<Obstacles> => {
  const [[found], unconfirmed] = await Promise.all([
    tx.run<Omit<Obstacles, 'unconfirmed'>>(selectObstacles, [accountId, operationId]),
    isRestored(tx),
  ]);
  return { ...(found as Omit<Obstacles, 'unconfirmed'>), unconfirmed };
};

/** Sums over a stretch of an operation's journals. */
export interface JournalSums {
  journals: number;
  available: number;
  reserved: number;
  held: number;
  receivable: number;
  cardHeld: number;
}

const sumJournals: Statement = {
  name: 'operation_sum_journals',
  text: `SELECT count(*) AS journals, coalesce(sum(available), 0) AS available, coalesce(sum(reserved), 0) AS reserved,
      coalesce(sum(held), 0) AS held, -coalesce(sum(receivable), 0) AS receivable,
      coalesce(sum(card_held), 0) AS "cardHeld"
    FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq > $3 AND seq <= $4`,
};

/** @param after exclusive @param upTo inclusive */
export const findJournalSums = async (
  sql: Queries,
  accountId: string,
  operationId: string,
  after: number,
  upTo: number,
): Promise<JournalSums> =>
  (await sql.run<JournalSums>(sumJournals, [accountId, operationId, after, upTo]))[0] as JournalSums;

const selectSeq: Statement = {
  name: 'operation_seq',
  text: `SELECT seq FROM balance WHERE account_id = $1 AND operation_id = $2`,
};

/** How many journals the operation's chain has at this moment. */
export const findSeq = async (sql: Queries, accountId: string, operationId: string): Promise<number> =>
  (await sql.run<{ seq: number }>(selectSeq, [accountId, operationId]))[0]?.seq ?? 0;

const selectLastHash: Statement = {
  name: 'operation_last_hash',
  text: `SELECT hash FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq = $3`,
};

export const findHash = async (
  tx: Queries,
  accountId: string,
  operationId: string,
  seq: number,
): Promise<Buffer | undefined> =>
  (await tx.run<{ hash: Buffer }>(selectLastHash, [accountId, operationId, seq]))[0]?.hash;
