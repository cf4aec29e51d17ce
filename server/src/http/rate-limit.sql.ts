import type { Queries, Statement } from '../ports/sql.ts';

/** Ordered, since two processes that lock the same rows in two orders wait for each other for ever. */
const spend: Statement = {
  name: 'rate_bucket_spend',
  text: `INSERT INTO rate_bucket AS b (id, spent_until)
    SELECT k.id, $4::float8 + k.ms FROM unnest($1::text[], $2::float8[]) AS k (id, ms) ORDER BY k.id
    ON CONFLICT (id) DO UPDATE SET spent_until = least(greatest(b.spent_until, $4) + excluded.spent_until - $4,
      $5::float8 + ($3::float8[])[array_position($1::text[], b.id)])
    RETURNING b.id, b.spent_until AS "spentUntil"`,
};

/** What this process took of a bucket, in milliseconds of it. */
export interface Taken {
  ms: number;
  /** How far ahead of now the bucket may be spent at most. */
  mostMs: number;
}

/**
 * Takes from the buckets that all processes share, and answers up to when each is spent by all of them.
 *
 * @param taken by bucket
 * @param sinceMs when this process began to take, ms since 1970 by the database's clock
 */
export const spendShared = (
  sql: Queries,
  taken: ReadonlyMap<string, Taken>,
  sinceMs: number,
  nowMs: number,
): Promise<{ id: string; spentUntil: number }[]> => {
  const each = [...taken.values()];
  return sql.run(spend, [
    [...taken.keys()],
    each.map(({ ms }) => ms),
    each.map(({ mostMs }) => mostMs),
    sinceMs,
    nowMs,
  ]);
};

const drop: Statement = {
  name: 'rate_bucket_drop',
  text: `DELETE FROM rate_bucket WHERE spent_until < $1`,
};

/** Removes the buckets that are full again: they say nothing. */
export const dropFull = (sql: Queries, nowMs: number): Promise<unknown> => sql.run(drop, [nowMs]);
