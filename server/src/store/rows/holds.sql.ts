import type { Queries, Statement } from '../../ports/sql.ts';
import { cents, defineTable, text, timestamptz, uuid } from '../database/define-table.ts';
import type { Derived } from '../database/table.ts';

export interface Hold {
  accountId: string;
  /** The token of the command that placed it. */
  id: string;
  operationId: string;
  wantedCents: number;
  /** The payment whose dispute placed it; null: a person did. */
  paymentId: string | null;
  reason: string;
  placedBy: string;
  placedAt: number;
  releasedAt: number | null;
  /** The person who released it; null: no person did, and its cause has ended. */
  releasedBy: string | null;
}

/** Keyed by 36 characters of account and 36 of hold. A dispute changes the hold of its Pix without having read its row. */
export const holds = defineTable<Hold>({
  name: 'hold',
  alias: 'h',
  key: ['accountId', 'id'],
  tokenOf: (hold) => hold.id,
  verbs: ['read', 'upsert', 'update'],
  columns: {
    accountId: uuid,
    id: uuid,
    operationId: uuid,
    wantedCents: cents.changes,
    paymentId: uuid.orNull,
    reason: text,
    placedBy: text,
    placedAt: timestamptz,
    releasedAt: timestamptz.orNull.changes,
    releasedBy: text.orNull.changes,
  },
});

const { columns } = holds;

const openBefore: Statement = {
  name: 'hold_before',
  text: `SELECT account_id AS "accountId", operation_id AS "operationId", id, wanted_cents AS "wantedCents"
    FROM hold WHERE account_id = $1 AND operation_id = $2 AND released_at IS NULL ORDER BY placed_at, id`,
};

/** An operation's open holds, the oldest first. */
const readOpenHolds = (
  tx: Queries,
  accountId: string,
  operationId: string,
): Promise<{ accountId: string; operationId: string; id: string; wantedCents: number }[]> =>
  tx.run(openBefore, [accountId, operationId]);

/** The oldest hold captures first. */
export function sharesOf(
  open: readonly { id: string; wantedCents: number }[],
  heldCents: number,
): Map<string, number> {
  const shares = new Map<string, number>();
  let left = heldCents;
  for (const { id, wantedCents } of open) {
    const captured = Math.min(left, wantedCents);
    shares.set(id, captured);
    left -= captured;
  }
  return shares;
}

export interface OpenHolds {
  accountId: string;
  operationId: string;
  holds: readonly { id: string; wantedCents: number }[];
}

/**
 * The open holds of an operation, keyed by account and operation. Put beside every hold that changes, so that a later command of the
 * same flush sees it; what is stored is the hold itself.
 */
export const openHolds: Derived<OpenHolds> = {
  name: 'hold_open',
  isDerived: true,
  keyOf: (row) => row.accountId + row.operationId,
  read: (tx, keys) =>
    Promise.all(
      keys.map(async (key) => {
        const [accountId, operationId] = [key.slice(0, 36), key.slice(36)];
        return { accountId, operationId, holds: await readOpenHolds(tx, accountId, operationId) };
      }),
    ),
};

/** The open holds after one of them has changed. */
export function openHoldsAfter(open: OpenHolds, hold: Hold): OpenHolds {
  const { id, wantedCents, releasedAt } = hold;
  if (releasedAt !== null) return { ...open, holds: open.holds.filter((one) => one.id !== id) };
  const isKnown = open.holds.some((one) => one.id === id);
  return {
    ...open,
    holds: isKnown
      ? open.holds.map((one) => (one.id === id ? { id, wantedCents } : one))
      : [...open.holds, { id, wantedCents }],
  };
}

const list: Statement = {
  name: 'hold_list',
  text: `SELECT ${columns}, b.held
    FROM hold h JOIN balance b ON b.account_id = h.account_id AND b.operation_id = h.operation_id
    WHERE h.account_id = $1 AND h.operation_id = $2 ORDER BY h.placed_at, h.id`,
};

/** Every hold of an operation, the oldest first, each with what all open ones together have captured at this moment. */
export const findHolds = (
  sql: Queries,
  accountId: string,
  operationId: string,
): Promise<(Hold & { held: number })[]> => sql.run(list, [accountId, operationId]);

const one: Statement = { name: 'hold_find', text: `SELECT ${columns} FROM hold h WHERE h.id = $1` };

export const findHold = async (sql: Queries, id: string): Promise<Hold | undefined> =>
  (await sql.run<Hold>(one, [id]))[0];

const owner: Statement = {
  name: 'hold_operation',
  text: `SELECT account_id AS "accountId" FROM operation WHERE id = $1`,
};

/** Whose operation it is. */
export const findAccountOf = async (sql: Queries, operationId: string): Promise<string | undefined> =>
  (await sql.run<{ accountId: string }>(owner, [operationId]))[0]?.accountId;
