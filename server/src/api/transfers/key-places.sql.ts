import type { Queries, Statement } from '../../ports/sql.ts';

/**
 * Members of `k.places` that still count. A payment gives its place back by what is stored of it, whoever stored it: once its key is known to exist.
 * One that is unknown may still have missed; a provider that accepts before it looks reports the miss within minutes. A place without a
 * payment behind it is of a request that is under way, or that was refused.
 */
const counting = `(SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}'::jsonb)
  FROM jsonb_each(k.places) e LEFT JOIN payment p ON p.account_id = k.account_id AND p.id = e.key::uuid
  WHERE abs(e.value::bigint) > $3::bigint - $4::bigint
    AND (e.value::bigint < 0 OR p.status = 'unknown' OR p.reason_code = 'pix_key_not_found'
      OR (p.status = 'pending' AND e.value::bigint > $3::bigint - 600000)
      OR ((p.id IS NULL OR p.status = 'draft') AND e.value::bigint > $3::bigint - 15000)))`;

/** One statement counts and decides under the row's lock. A payment that has its place already takes no second one. */
const take: Statement = {
  name: 'key_place_take',
  text: `INSERT INTO key_place AS k (account_id, places) VALUES ($1, jsonb_build_object($2::text, $3::bigint))
    ON CONFLICT (account_id) DO UPDATE SET places = ${counting} || jsonb_build_object($2::text, $3::bigint)
      WHERE $5::int IS NULL OR (SELECT count(*) FROM jsonb_object_keys(${counting} - $2::text)) < $5::int
    RETURNING 1 AS taken`,
};

export interface Place {
  accountId: string;
  /** Of the payment, or of a look-up without one. */
  id: string;
  nowMs: number;
  windowMs: number;
}

/** @param most null: it is recorded, however many there are. @returns false: there is none left */
export const takePlace = async (
  sql: Queries,
  { accountId, id, nowMs, windowMs }: Place,
  most: number | null,
): Promise<boolean> => (await sql.run(take, [accountId, id, nowMs, windowMs, most])).length > 0;

const give: Statement = {
  name: 'key_place_give',
  text: `UPDATE key_place SET places = places - $2::text WHERE account_id = $1 AND places ? $2::text`,
};

export const givePlace = (sql: Queries, accountId: string, id: string): Promise<unknown> =>
  sql.run(give, [accountId, id]);

const miss: Statement = {
  name: 'key_place_miss',
  text: `UPDATE key_place SET places = places || jsonb_build_object($2::text, -$3::bigint) WHERE account_id = $1`,
};

/** A look-up without a payment found no key: it counts until its time is over. */
export const keepMiss = (sql: Queries, accountId: string, id: string, nowMs: number): Promise<unknown> =>
  sql.run(miss, [accountId, id, nowMs]);

const oldest: Statement = {
  name: 'key_place_oldest',
  text: `SELECT min(abs(e.value::bigint)) AS at FROM key_place k, jsonb_each(k.places) e WHERE k.account_id = $1`,
};

/** When the first of them was taken. */
export const oldestPlace = async (sql: Queries, accountId: string): Promise<number | null> =>
  (await sql.run<{ at: number | null }>(oldest, [accountId]))[0]?.at ?? null;
