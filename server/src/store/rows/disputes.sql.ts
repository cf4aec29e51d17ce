import type { Dispute } from '../../money/dispute.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { cents, describeRows, text, timestamptz, uuid } from '../database/define-table.ts';
import { rankOf, type Table } from '../database/table.ts';

/** The disputes of a payment, in the order in which we heard of them. */
export interface PaymentDisputes {
  accountId: string;
  paymentId: string;
  disputes: readonly Dispute[];
}

export const disputeRows = describeRows<Dispute>({
  name: 'dispute',
  alias: 'd',
  key: ['accountId', 'id'],
  verbs: ['upsert'],
  columns: {
    accountId: uuid,
    id: uuid,
    paymentId: uuid,
    operationId: uuid,
    connection: text,
    providerId: text,
    endToEnd: text,
    amountCents: cents.changes,
    status: text.changes,
    reason: text.orNull.changes,
    openedAt: timestamptz,
    deadlineAt: timestamptz.orNull.changes,
    endedAt: timestamptz.orNull.changes,
    debitedCents: cents.changes,
    holdId: uuid.orNull.changes,
    createdAt: timestamptz,
    updatedAt: timestamptz.changes,
    mailDueAt: timestamptz.orNull.changes,
    releasedAt: timestamptz.orNull.changes,
  },
});

const { columns } = disputeRows;

const select: Statement = {
  name: 'dispute_read',
  text: `SELECT ${columns} FROM dispute d JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, payment_id) USING (account_id, payment_id)
    ORDER BY d.id`,
};

export const disputesKey = (accountId: string, paymentId: string): string => accountId + paymentId;

export const disputesOfPayment: Table<PaymentDisputes> = {
  name: 'dispute',
  rank: rankOf('dispute'),
  keyOf: ({ accountId, paymentId }) => disputesKey(accountId, paymentId),
  read: async (tx, keys) => {
    const rows = await tx.run<Dispute>(select, [
      keys.map((key) => key.slice(0, 36)),
      keys.map((key) => key.slice(36)),
    ]);
    const groups = Map.groupBy(rows, (row) => disputesKey(row.accountId, row.paymentId));
    return [...groups.values()].map((disputes) => {
      const { accountId, paymentId } = disputes[0] as Dispute;
      return { accountId, paymentId, disputes };
    });
  },
  write: (tx, { inserted, updated }) => {
    const rows = [...inserted, ...updated].flatMap(({ disputes }) => disputes);
    return [disputeRows.insert(tx, rows)];
  },
};

const oldest: Statement = {
  name: 'dispute_oldest',
  text: `SELECT min(opened_at) AS "oldestAt" FROM dispute WHERE connection = $1 AND ended_at IS NULL`,
};

/** Since when the oldest dispute that the provider has not ended is open; null: there is none. */
export const findOldestDispute = async (sql: Queries, connection: string): Promise<number | null> =>
  (await sql.run<{ oldestAt: number | null }>(oldest, [connection]))[0]?.oldestAt ?? null;

const known: Statement = {
  name: 'dispute_known',
  text: `SELECT ${columns} FROM dispute d WHERE d.connection = $1 AND d.provider_id = ANY ($2::text[])`,
};

/** Those of the provider's ids that are known. */
export const findKnown = (
  sql: Queries,
  connection: string,
  providerIds: readonly string[],
): Promise<Dispute[]> => sql.run<Dispute>(known, [connection, providerIds]);

/** Every statement for merchants names account and operation. */
export interface Scope {
  accountId: string;
  operationId: string;
}

const page: Statement = {
  name: 'dispute_page',
  text: `SELECT ${columns} FROM dispute d WHERE d.account_id = $1 AND d.operation_id = $2 AND d.id < $3
      AND ($4::text[] IS NULL OR d.status = ANY ($4))
    ORDER BY d.id DESC LIMIT $5`,
};

/** Below an id, the newest first. */
export const findDisputePage = (
  sql: Queries,
  scope: Scope,
  below: string,
  statuses: readonly string[] | null,
  limit: number,
): Promise<Dispute[]> => sql.run<Dispute>(page, [scope.accountId, scope.operationId, below, statuses, limit]);

const due: Statement = {
  name: 'dispute_due',
  text: `SELECT ${columns} FROM unnest($2::uuid[]) AS o (id) CROSS JOIN LATERAL (
      SELECT * FROM dispute WHERE account_id = $1 AND operation_id = o.id AND ended_at IS NULL ORDER BY deadline_at, id LIMIT $3) d
    ORDER BY d.deadline_at, d.id LIMIT $3`,
};

/** Those of some operations that the provider has not decided, the next deadline first. */
export const findDueDisputes = (
  sql: Queries,
  accountId: string,
  operationIds: readonly string[],
  most = 20,
): Promise<Dispute[]> => sql.run<Dispute>(due, [accountId, operationIds, most]);

const one: Statement = {
  name: 'dispute_one',
  text: `SELECT ${columns} FROM dispute d WHERE d.account_id = $1 AND d.operation_id = $2 AND d.id = $3`,
};

export const findDispute = async (sql: Queries, scope: Scope, id: string): Promise<Dispute | undefined> =>
  (await sql.run<Dispute>(one, [scope.accountId, scope.operationId, id]))[0];

const ofHold: Statement = {
  name: 'dispute_of_hold',
  text: `SELECT d.payment_id AS "paymentId" FROM dispute d WHERE d.account_id = $1 AND d.operation_id = $2 AND d.hold_id = $3 LIMIT 1`,
};

/** The payment whose disputes share a hold; undefined: no dispute placed it. It never changes. */
export const findPaymentOfHold = async (
  sql: Queries,
  { accountId, operationId }: Scope,
  holdId: string,
): Promise<string | undefined> =>
  (await sql.run<{ paymentId: string }>(ofHold, [accountId, operationId, holdId]))[0]?.paymentId;

const siblings: Statement = {
  name: 'dispute_of_payments',
  text: `SELECT ${columns} FROM dispute d WHERE d.account_id = $1 AND d.payment_id = ANY ($2::uuid[]) ORDER BY d.id`,
};

/** All disputes of some payments. */
export const findDisputesOf = (
  sql: Queries,
  accountId: string,
  paymentIds: readonly string[],
): Promise<Dispute[]> => sql.run<Dispute>(siblings, [accountId, paymentIds]);

const heldNow: Statement = {
  name: 'dispute_held',
  text: `SELECT h.id, h.wanted_cents AS "wantedCents", b.held
    FROM hold h JOIN balance b ON b.account_id = h.account_id AND b.operation_id = h.operation_id
    WHERE h.account_id = $1 AND h.operation_id = $2 AND h.released_at IS NULL ORDER BY h.placed_at, h.id`,
};

/** The open holds of an operation, each with what all together have captured. */
export const findOpenHolds = (
  sql: Queries,
  scope: Scope,
): Promise<{ id: string; wantedCents: number; held: number }[]> =>
  sql.run(heldNow, [scope.accountId, scope.operationId]);
