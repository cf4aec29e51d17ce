import type { Queries, Statement } from '../ports/sql.ts';

/** Ordered, since two processes that lock the same rows in two orders wait for each other for ever. */
const spend: Statement = {
  name: 'rate_bucket_spend',
  text: `INSERT INTO rate_bucket AS b (id, spent_until)
    SELECT k.id, $3::float8 + k.ms FROM unnest($1::text[], $2::float8[]) AS k (id, ms) ORDER BY k.id
    ON CONFLICT (id) DO UPDATE SET spent_until = greatest(b.spent_until, $3) + excluded.spent_until - $3
    RETURNING b.id, b.spent_until AS "spentUntil"`,
};

/**
 * Takes from the buckets that all processes share, and answers up to when each is spent by all of them.
 *
 * @param spentMs by bucket, what this process took from it
 * @param sinceMs when it began to take, ms since 1970
 */
export const spendShared = (
  sql: Queries,
  spentMs: ReadonlyMap<string, number>,
  sinceMs: number,
): Promise<{ id: string; spentUntil: number }[]> =>
  sql.run(spend, [[...spentMs.keys()], [...spentMs.values()], sinceMs]);

const drop: Statement = {
  name: 'rate_bucket_drop',
  text: `DELETE FROM rate_bucket WHERE spent_until < $1`,
};

/** Removes the buckets that are full again: they say nothing. */
export const dropFull = (sql: Queries, nowMs: number): Promise<unknown> => sql.run(drop, [nowMs]);
