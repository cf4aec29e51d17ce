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

/**
 * One statement counts and decides under the row's lock, for all that the account asks for at once. A payment that has its place already takes no
 * second one. $2: {payment id: now}.
 */
const take: Statement = {
  name: 'key_place_take',
  text: `INSERT INTO key_place AS k (account_id, places) VALUES ($1, $2::jsonb)
    ON CONFLICT (account_id) DO UPDATE SET places = (WITH c AS (SELECT ${counting} AS kept)
      SELECT c.kept || coalesce((SELECT jsonb_object_agg(n.key, n.value) FROM (
          SELECT e.key, e.value FROM jsonb_each(EXCLUDED.places) e ORDER BY c.kept ? e.key DESC
          LIMIT greatest(0, $5::int - (SELECT count(*) FROM jsonb_object_keys(c.kept) o (id) WHERE NOT EXCLUDED.places ? o.id))) n),
        '{}'::jsonb)
      FROM c)
    RETURNING ARRAY(SELECT w.id FROM jsonb_object_keys($2::jsonb) w (id) WHERE k.places ? w.id) AS taken`,
};

export interface Places {
  accountId: string;
  /** Of payments, or of look-ups without one. */
  ids: readonly string[];
  nowMs: number;
  windowMs: number;
  /** How many of the account may be taken; null: these are recorded, however many there are. */
  most: number | null;
}

/** More than an account can have under way. */
const unbounded = 1_000_000;

/** @returns the ids that have a place */
export async function takePlaces(
  sql: Queries,
  { accountId, ids, nowMs, windowMs, most }: Places,
): Promise<readonly string[]> {
  // An account without a row has its first places without a count.
  const wanted = Object.fromEntries(ids.slice(0, most ?? unbounded).map((id) => [id, nowMs]));
  const values = [accountId, JSON.stringify(wanted), nowMs, windowMs, most ?? unbounded];
  const [row] = await sql.run<{ taken: string[] }>(take, values);
  return row?.taken ?? [];
}

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
