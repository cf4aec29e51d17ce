import type { Queries, Statement } from '../../ports/sql.ts';
import {
  bytea,
  defineTable,
  sealed,
  smallint,
  timestamptz,
  uuid,
} from '../../store/database/define-table.ts';
import { later } from '../../store/database/later.ts';
import { timestamp } from '../../store/database/pool.ts';

/** A draft's row beside its payment, until it is confirmed or ends. Instants are milliseconds since 1970. */
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

/** Keyed as its payment: 36 characters of account, 36 of payment. */
export const drafts = defineTable<Draft>({
  name: 'draft',
  alias: 'd',
  key: ['accountId', 'paymentId'],
  verbs: ['read', 'insert', 'update', 'delete'],
  columns: {
    accountId: uuid,
    paymentId: uuid,
    operationId: uuid,
    email: sealed,
    codeSalt: bytea.changes,
    codeHash: bytea.changes,
    codeExpiresAt: timestamptz.changes,
    triesLeft: smallint.changes,
    sendsLeft: smallint.changes,
    expiresAt: timestamptz,
  },
});

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
