import { refuse } from '../../ground/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Statement } from '../../ports/sql.ts';

export interface Limit {
  id: string;
  /** So many at once, and as many again in `everyMs`. */
  most: number;
  everyMs: number;
}

const giveBack: Statement = {
  name: 'rate_bucket_give_back',
  text: `UPDATE rate_bucket b SET spent_until = b.spent_until - k.cost FROM unnest($1::text[], $2::float8[]) AS k (id, cost) WHERE b.id = k.id`,
};

/** Gives back one that was taken and not used. */
export const giveToBuckets = (sql: Queries, ...taken: Limit[]): Promise<unknown> =>
  sql.run(giveBack, [taken.map(({ id }) => id), taken.map(({ most, everyMs }) => everyMs / most)]);

/** A bucket that is empty is left as it is: its row is not returned. */
const take: Statement = {
  name: 'rate_bucket_take',
  text: `WITH narrow AS (
      INSERT INTO rate_bucket AS b (id, spent_until) VALUES ($1, $7::float8 + $2::float8)
      ON CONFLICT (id) DO UPDATE SET spent_until = greatest(b.spent_until, $7) + $2
        WHERE greatest(b.spent_until, $7) + $2 <= $7 + $3::float8
      RETURNING id),
    wide AS (
      INSERT INTO rate_bucket AS b (id, spent_until) SELECT $4, $7::float8 + $5::float8 FROM narrow
      ON CONFLICT (id) DO UPDATE SET spent_until = greatest(b.spent_until, $7) + $5
        WHERE greatest(b.spent_until, $7) + $5 <= $7 + $6::float8
      RETURNING id)
    SELECT EXISTS (SELECT FROM narrow) AS narrow, EXISTS (SELECT FROM wide) AS wide`,
};

/**
 * Takes one of a narrow bucket and then one of a wide one, in the database that all processes share, before anything is done. A refused call spends nothing of
 * the wide one: strangers of one network keep the payers of no other away. It spends nothing of its own bucket either, so that the time in the refusal is true.
 * Rejected: counting in this process and telling the others later, as calls with a key do: each charge costs a call of the provider, and a thousand
 * strangers at many processes would make as many.
 *
 * The id of the narrow one is first in order: whatever removes full buckets locks them in the same order.
 * @throws ApiError `rate_limited`
 */
export async function takeOfBuckets(
  { sql, clock }: { sql: Queries; clock: Clock },
  narrow: Limit,
  wide: Limit,
): Promise<void> {
  const each = [narrow, wide].flatMap(({ id, most, everyMs }) => [id, everyMs / most, everyMs]);
  const [taken] = await sql.run<{ narrow: boolean; wide: boolean }>(take, [...each, clock.now()]);
  const refusing = !taken?.narrow ? narrow : taken.wide ? null : wide;
  if (refusing === null) return;
  throw refuse('rate_limited', { retryAfterSeconds: Math.ceil(refusing.everyMs / refusing.most / 1000) });
}
