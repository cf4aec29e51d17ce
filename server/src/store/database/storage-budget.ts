import type { Queries, Statement } from '../../ports/sql.ts';

/**
 * The budget of each account for rows that serve its merchant's convenience alone: bytes at once, and bytes a second in the
 * long run. A caller or an endpoint decides how much of it comes in, so without a budget one account fills the disk of all: 51 GB of the log
 * by one key's polling in thirty days, 100 GB a day by endpoints that fail.
 *
 * The budget is taken in the transaction that stores, before it stores, so all processes share it and what is rolled back is given back.
 * What does not fit is left out or cut short. Nothing of money is ever under a budget.
 */
export const storageBudgets = {
  /** Logged requests that were refused: 1.3 GB in the thirty days that they are kept. */
  'refused-requests': { bytes: 16 * 1024 ** 2, perSecond: 512 },
  /** Logged requests that change something: 2.6 GB. */
  'changing-requests': { bytes: 16 * 1024 ** 2, perSecond: 1024 },
  /** Logged requests that read: 0.7 GB. */
  'reading-requests': { bytes: 16 * 1024 ** 2, perSecond: 256 },
  /** Answers of endpoints, beyond the first bytes of each: 0.5 GB in ninety days. */
  answers: { bytes: 4 * 1024 ** 2, perSecond: 64 },
} as const satisfies Record<string, { bytes: number; perSecond: number }>;

export type StorageKind = keyof typeof storageBudgets;

/** $5: ms that a byte takes; $6: how far ahead of now a budget may be used up. A row with a wrong time is brought back to that. */
const usedUntil = 'greatest($4::float8, least(b.spent_until, $4::float8 + $6))';
const granted = `least(excluded.granted, floor(($4::float8 + $6 - ${usedUntil}) / $5)::bigint)`;

/** Ordered by the caller: two processes that lock the same rows in two orders wait for each other. */
const take: Statement = {
  name: 'storage_budget_take',
  text: `INSERT INTO storage_budget AS b (account_id, kind, spent_until, granted)
    VALUES (unnest($1::uuid[]), $2, unnest($7::float8[]), unnest($3::bigint[]))
    ON CONFLICT (account_id, kind) DO UPDATE SET granted = ${granted}, spent_until = ${usedUntil} + ${granted} * $5
    RETURNING account_id AS "accountId", granted`,
};

/**
 * @param wanted bytes by account
 * @returns the bytes that each may store now
 */
export async function takeStorage(
  tx: Queries,
  kind: StorageKind,
  wanted: ReadonlyMap<string, number>,
  nowMs: number,
): Promise<Map<string, number>> {
  const { bytes, perSecond } = storageBudgets[kind];
  const accounts = [...wanted.keys()].sort();
  const most = accounts.map((id) => Math.min(bytes, Math.ceil(wanted.get(id) as number)));
  const msPerByte = 1000 / perSecond;
  const rows = await tx.run<{ accountId: string; granted: number }>(take, [
    accounts,
    kind,
    most,
    nowMs,
    msPerByte,
    bytes * msPerByte,
    most.map((granted) => nowMs + granted * msPerByte),
  ]);
  return new Map(rows.map((row) => [row.accountId, row.granted]));
}
