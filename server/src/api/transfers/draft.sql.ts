import type { Queries, Statement } from '../../ports/sql.ts';
import { later } from '../../store/database/later.ts';
import { timestamp } from '../../store/database/pool.ts';
import type { Table } from '../../store/database/table.ts';

/** What is kept of a draft beside its payment, until it is confirmed or ends. Instants are milliseconds since 1970. */
export interface Draft {
  accountId: string;
  paymentId: string;
  operationId: string;
  /** Sealed. */
  email: Buffer;
  codeSalt: Buffer;
  codeHash: Buffer;
  codeExpiresAt: number;
  triesLeft: number;
  sendsLeft: number;
  expiresAt: number;
}

const columns = `d.account_id AS "accountId", d.payment_id AS "paymentId", d.operation_id AS "operationId", d.email,
  d.code_salt AS "codeSalt", d.code_hash AS "codeHash", d.code_expires_at AS "codeExpiresAt", d.tries_left AS "triesLeft",
  d.sends_left AS "sendsLeft", d.expires_at AS "expiresAt"`;

const select: Statement = {
  name: 'draft_read',
  text: `SELECT ${columns} FROM draft d JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)`,
};

const insert: Statement = {
  name: 'draft_insert',
  text: `INSERT INTO draft (account_id, payment_id, operation_id, email, code_salt, code_hash, code_expires_at, tries_left,
      sends_left, expires_at)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::bytea[]), unnest($5::bytea[]), unnest($6::bytea[]), unnest($7::timestamptz[]),
      unnest($8::smallint[]), unnest($9::smallint[]), unnest($10::timestamptz[]))`,
};

const update: Statement = {
  name: 'draft_update',
  text: `UPDATE draft d SET code_salt = k.code_salt, code_hash = k.code_hash, code_expires_at = k.code_expires_at,
      tries_left = k.tries_left, sends_left = k.sends_left
    FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::timestamptz[], $6::smallint[], $7::smallint[])
      AS k (account_id, payment_id, code_salt, code_hash, code_expires_at, tries_left, sends_left)
    WHERE d.account_id = k.account_id AND d.payment_id = k.payment_id`,
};

const drop: Statement = {
  name: 'draft_delete',
  text: `DELETE FROM draft d USING unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id)
    WHERE d.account_id = k.account_id AND d.payment_id = k.payment_id`,
};

/** Keyed as its payment: 36 characters of account, 36 of payment. */
export const drafts: Table<Draft> = {
  name: 'draft',
  rank: 15,
  keyOf: (draft) => draft.accountId + draft.paymentId,
  read: (tx, keys) =>
    tx.run<Draft>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
  write: (tx, { inserted, updated, deleted }) => {
    const writes: Promise<unknown>[] = [];
    if (inserted.length > 0) {
      writes.push(
        tx.run(insert, [
          inserted.map((draft) => draft.accountId),
          inserted.map((draft) => draft.paymentId),
          inserted.map((draft) => draft.operationId),
          inserted.map((draft) => draft.email),
          inserted.map((draft) => draft.codeSalt),
          inserted.map((draft) => draft.codeHash),
          inserted.map((draft) => timestamp(draft.codeExpiresAt)),
          inserted.map((draft) => draft.triesLeft),
          inserted.map((draft) => draft.sendsLeft),
          inserted.map((draft) => timestamp(draft.expiresAt)),
        ]),
      );
    }
    if (updated.length > 0) {
      writes.push(
        tx.run(update, [
          updated.map((draft) => draft.accountId),
          updated.map((draft) => draft.paymentId),
          updated.map((draft) => draft.codeSalt),
          updated.map((draft) => draft.codeHash),
          updated.map((draft) => timestamp(draft.codeExpiresAt)),
          updated.map((draft) => draft.triesLeft),
          updated.map((draft) => draft.sendsLeft),
        ]),
      );
    }
    if (deleted.length > 0) {
      writes.push(
        tx.run(drop, [deleted.map((key) => key.slice(0, 36)), deleted.map((key) => key.slice(36))]),
      );
    }
    return writes;
  },
};

export interface OverdueDraft {
  accountId: string;
  paymentId: string;
  operationId: string;
  livemode: boolean;
}

const overdue: Statement = {
  name: 'draft_overdue',
  text: `SELECT d.account_id AS "accountId", d.payment_id AS "paymentId", d.operation_id AS "operationId", NOT a.test AS livemode
    FROM draft d JOIN account a ON a.id = d.account_id WHERE d.expires_at <= $1 ORDER BY d.expires_at LIMIT $2`,
};

export const findOverdue = (sql: Queries, nowMs: number, limit: number): Promise<OverdueDraft[]> =>
  sql.run<OverdueDraft>(overdue, [timestamp(nowMs), limit]);

/** For the command line, which names an operation by its id alone. */
export interface DraftOwner {
  accountId: string;
  accountNumber: number;
  test: boolean;
  connection: string;
}

const owner: Statement = {
  name: 'draft_owner',
  text: `SELECT a.id AS "accountId", a.number AS "accountNumber", a.test, a.connection
    FROM operation o JOIN account a ON a.id = o.account_id WHERE o.id = $1 AND o.deleted_at IS NULL`,
};

export const findOwner = async (sql: Queries, operationId: string): Promise<DraftOwner | undefined> =>
  (await sql.run<DraftOwner>(owner, [operationId]))[0];

const shift: Statement = {
  name: 'draft_shift',
  text: `UPDATE draft SET expires_at = ${later('expires_at', '-$2::double precision')},
      code_expires_at = ${later('code_expires_at', '-$2::double precision')} WHERE account_id = $1`,
};

/** Brings the ends of an account's drafts nearer: test clocks. */
export const shiftDrafts = (tx: Queries, accountId: string, byMs: number): Promise<unknown> =>
  tx.run(shift, [accountId, byMs]);
