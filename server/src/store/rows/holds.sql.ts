import type { Queries, Statement } from '../../ports/sql.ts';
import type { Table } from '../database/table.ts';

export interface Hold {
  accountId: string;
  /** The token of the command that placed it. */
  id: string;
  operationId: string;
  wantedCents: number;
  reason: string;
  placedBy: string;
  placedAt: number;
  releasedAt: number | null;
  /** The person who released it; null: nobody did, and what it was placed for has ended. */
  releasedBy: string | null;
}

const columns = `h.account_id AS "accountId", h.id, h.operation_id AS "operationId", h.wanted_cents AS "wantedCents", h.reason,
  h.placed_by AS "placedBy", h.placed_at AS "placedAt", h.released_at AS "releasedAt",
  h.released_by AS "releasedBy"`;

const select: Statement = {
  name: 'hold_read',
  text: `SELECT ${columns} FROM hold h JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, id) USING (account_id, id)`,
};

/** A dispute changes the hold of its Pix without having read its row. */
const insert: Statement = {
  name: 'hold_upsert',
  text: `INSERT INTO hold (account_id, id, operation_id, wanted_cents, reason, placed_by, placed_at, released_at, released_by)
    VALUES (unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::uuid[]), unnest($4::bigint[]), unnest($5::text[]), unnest($6::text[]), unnest($7::timestamptz[]), unnest($8::timestamptz[]),
      unnest($9::text[]))
    ON CONFLICT (account_id, id) DO UPDATE SET wanted_cents = excluded.wanted_cents, released_at = excluded.released_at,
      released_by = excluded.released_by`,
};

const update: Statement = {
  name: 'hold_release',
  text: `UPDATE hold h SET wanted_cents = k.wanted_cents, released_at = k.released_at, released_by = k.released_by
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::text[]) AS k (account_id, id, wanted_cents, released_at, released_by)
    WHERE h.account_id = k.account_id AND h.id = k.id`,
};

const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Keyed by 36 characters of account and 36 of hold. */
export const holds: Table<Hold> = {
  name: 'hold',
  rank: 60,
  keyOf: (hold) => hold.accountId + hold.id,
  tokenOf: (hold) => hold.id,
  read: (tx, keys) =>
    tx.run<Hold>(select, [keys.map((key) => key.slice(0, 36)), keys.map((key) => key.slice(36))]),
  write: (tx, { inserted, updated }) => {
    const writes: Promise<unknown>[] = [];
    if (inserted.length > 0) {
      writes.push(
        tx.run(insert, [
          inserted.map((hold) => hold.accountId),
          inserted.map((hold) => hold.id),
          inserted.map((hold) => hold.operationId),
          inserted.map((hold) => hold.wantedCents),
          inserted.map((hold) => hold.reason),
          inserted.map((hold) => hold.placedBy),
          inserted.map((hold) => time(hold.placedAt)),
          inserted.map((hold) => time(hold.releasedAt)),
          inserted.map((hold) => hold.releasedBy),
        ]),
      );
    }
    if (updated.length > 0) {
      writes.push(
        tx.run(update, [
          updated.map((hold) => hold.accountId),
          updated.map((hold) => hold.id),
          updated.map((hold) => hold.wantedCents),
          updated.map((hold) => time(hold.releasedAt)),
          updated.map((hold) => hold.releasedBy),
        ]),
      );
    }
    return writes;
  },
};

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
export const openHolds: Table<OpenHolds> = {
  name: 'hold_open',
  rank: 60,
  write: () => [],
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
