import type { DisputeFile } from '../../money/evidence.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { defineTable, integer, text, timestamptz, uuid } from '../database/define-table.ts';
import { timestamp } from '../database/pool.ts';
import type { Scope } from './disputes.sql.ts';

const columns = `account_id AS "accountId", id, dispute_id AS "disputeId", operation_id AS "operationId", name, type,
  size_bytes AS "sizeBytes", encode(sha256, 'hex') AS sha256, created_at AS "createdAt"`;

/** As the till reads and removes them, without their contents. Keyed by 36 characters of account and 36 of the file. */
export const disputeFiles = defineTable<Omit<DisputeFile, 'sha256'>>({
  name: 'dispute_file',
  alias: 'f',
  key: ['accountId', 'id'],
  verbs: ['read', 'delete'],
  columns: {
    accountId: uuid,
    id: uuid,
    disputeId: uuid,
    operationId: uuid,
    name: text,
    type: text,
    sizeBytes: integer,
    createdAt: timestamptz,
  },
});

const lock: Statement = {
  name: 'dispute_files_lock',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('dispute_file ' || $1::text, 0))`,
};

/**
 * New files of an account come one after the other, so that their number and size are exact. Rejected: the till, in whose batch all other commands
 * would wait until 10 MB are stored. A defence that takes some, and the removal of one, are the till's.
 */
export const lockFiles = async (tx: Queries, accountId: string): Promise<void> => {
  await tx.run(lock, [accountId]);
};

const ofDispute: Statement = {
  name: 'dispute_files_of',
  text: `SELECT ${columns} FROM dispute_file WHERE account_id = $1 AND operation_id = $2 AND dispute_id = $3 ORDER BY id`,
};

/** The oldest first. */
export const findFiles = (
  sql: Queries,
  { accountId, operationId }: Scope,
  disputeId: string,
): Promise<DisputeFile[]> => sql.run<DisputeFile>(ofDispute, [accountId, operationId, disputeId]);

const kept: Statement = {
  name: 'dispute_files_kept',
  text: `SELECT COALESCE(sum(size_bytes), 0)::bigint AS bytes FROM dispute_file WHERE account_id = $1 AND body IS NOT NULL`,
};

/** The size of all files of the account, in bytes. */
export const keptBytes = async (sql: Queries, accountId: string): Promise<number> =>
  (await sql.run<{ bytes: number }>(kept, [accountId]))[0]?.bytes ?? 0;

const insert: Statement = {
  name: 'dispute_file_insert',
  text: `INSERT INTO dispute_file (account_id, id, dispute_id, operation_id, name, type, size_bytes, sha256, body, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, decode($8, 'hex'), $9, $10)`,
};

export async function insertFile(sql: Queries, file: DisputeFile, body: Buffer): Promise<void> {
  const { accountId, id, disputeId, operationId, name, type, sizeBytes, sha256, createdAt } = file;
  const at = timestamp(createdAt);
  await sql.run(insert, [accountId, id, disputeId, operationId, name, type, sizeBytes, sha256, body, at]);
}

const contents: Statement = {
  name: 'dispute_file_contents',
  text: 'SELECT body FROM dispute_file WHERE account_id = $1 AND dispute_id = $2 AND id = $3',
};

/** Sealed, with the file's id as context; null: they are not kept any more. */
export const findContents = async (
  sql: Queries,
  { accountId, disputeId, id }: Pick<DisputeFile, 'accountId' | 'disputeId' | 'id'>,
): Promise<Buffer | null> =>
  (await sql.run<{ body: Buffer | null }>(contents, [accountId, disputeId, id]))[0]?.body ?? null;

const prune: Statement = {
  name: 'dispute_files_prune',
  text: `WITH old AS (
      SELECT o.account_id, o.id FROM dispute_file o JOIN dispute d ON d.account_id = o.account_id AND d.id = o.dispute_id
        WHERE o.id < $1 AND o.body IS NOT NULL AND d.ended_at IS NOT NULL
        ORDER BY o.id LIMIT $2 FOR UPDATE OF o SKIP LOCKED)
    UPDATE dispute_file f SET body = NULL
    FROM old
    WHERE f.account_id = old.account_id AND f.id = old.id RETURNING f.id`,
};

/** @returns how many files have lost their contents */
export const pruneFiles = async (sql: Queries, belowId: string, most: number): Promise<number> =>
  (await sql.run(prune, [belowId, most])).length;
