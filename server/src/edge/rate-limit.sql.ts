import type { Queries, Statement } from '../ports/sql.ts';

/** Ordered, since two processes that lock the same rows in two orders wait for each other without an end. */
const spend: Statement = {
  name: 'rate_bucket_spend',
  text: `INSERT INTO rate_bucket AS b (id, spent_until)
    SELECT k.id, $4::float8 + k.ms FROM unnest($1::text[], $2::float8[]) AS k (id, ms) ORDER BY k.id
    ON CONFLICT (id) DO UPDATE SET spent_until = least(greatest(b.spent_until, $4) + excluded.spent_until - $4,
      $5::float8 + ($3::float8[])[array_position($1::text[], b.id)])
    RETURNING b.id, b.spent_until AS "spentUntil"`,
};

/** The part of a bucket that this process took, in milliseconds of it. */
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
  text: `WITH looked AS (SELECT id FROM rate_bucket WHERE id > $2 ORDER BY id LIMIT $3),
      gone AS (DELETE FROM rate_bucket b USING looked l WHERE b.id = l.id AND b.spent_until < $1)
    SELECT max(id) AS last, count(*)::integer AS looked FROM looked`,
};

/**
 * Removes the buckets that are full again, of `most` behind an id: they say nothing. In the order of the key, since an index on the
 * instant would make every count of a call write an index.
 * @returns the last one that was looked at; null: there are no more
 */
export const dropFull = async (
  sql: Queries,
  nowMs: number,
  after: string,
  most: number,
): Promise<string | null> => {
  const [row] = await sql.run<{ last: string | null; looked: number }>(drop, [nowMs, after, most]);
  return row && row.looked === most ? row.last : null;
};
