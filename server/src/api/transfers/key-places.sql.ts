import type { Queries, Statement, Transaction } from '../../ports/sql.ts';

/**
 * The members of `k.places`: which of them are misses for sure, and whether each takes one of the account's places. `counts` is null for a member
 * that goes: its hour is over, or its key exists. The process that stores a payment's answer gives its place back with it.
 *
 * - A miss counts for its hour; a negative time is one of a look-up without a payment.
 * - A payment that no byte left of yet (its intent is `ready`) counts until it is sent, however long that takes.
 * - An unknown one counts for two minutes. By then it was queried several times and, where that is safe, repeated after two queries that did
 *   not find it, ten seconds apart; each of these that shows the key ends it. Then it rests: it counts no more, but its account has no more
 *   than twice its places, resting ones included, and one that turns out to be a miss counts again. So an hour costs thirty misses, and thirty
 *   more at most where the provider's answers are lost for minutes.
 * - A pending one counts for ten minutes: a provider that accepts before it looks reports the miss within minutes.
 * - A place without a payment is of a request under way, or of one that was refused: 15 s, which is more than a request has.
 */
const membersAt = (now: string, window: string): string => `(SELECT e.key AS id, e.value,
    e.value::bigint < 0 OR p.reason_code IS NOT DISTINCT FROM 'pix_key_not_found' AS missed,
    CASE WHEN abs(e.value::bigint) <= ${now}::bigint - ${window}::bigint THEN NULL
      WHEN e.value::bigint < 0 OR p.reason_code = 'pix_key_not_found' THEN true
      WHEN p.status = 'unknown' THEN e.value::bigint > ${now}::bigint - 120000 OR EXISTS (SELECT FROM intent i
        WHERE i.account_id = p.account_id AND i.payment_id = p.id AND i.state = 'ready')
      WHEN p.status = 'pending' THEN nullif(e.value::bigint > ${now}::bigint - 600000, false)
      WHEN p.id IS NULL OR p.status = 'draft' THEN nullif(e.value::bigint > ${now}::bigint - 15000, false)
    END AS counts
  FROM jsonb_each(k.places) e LEFT JOIN payment p ON p.account_id = k.account_id AND p.id = e.key::uuid)`;

const members = membersAt('$3', '$4');

/** Before `take`, whose UPDATE needs a row: Citus takes no INSERT that reads other tables where the row is there. */
const begin: Statement = {
  name: 'key_place_begin',
  text: `INSERT INTO key_place (account_id, places) VALUES ($1, '{}'::jsonb) ON CONFLICT (account_id) DO NOTHING`,
};

/**
 * One statement counts and decides under the row's lock, for all that the account asks for at once. A payment that has its place already takes no
 * second one. $2: {payment id: now}.
 */
const take: Statement = {
  name: 'key_place_take',
  text: `UPDATE key_place k SET places = (
      SELECT c.kept || coalesce((SELECT jsonb_object_agg(n.key, n.value) FROM (
          SELECT e.key, e.value FROM jsonb_each($2::jsonb) e ORDER BY c.kept ? e.key DESC
          LIMIT greatest(0, c.room)) n),
        '{}'::jsonb)
      FROM (
        SELECT coalesce(jsonb_object_agg(m.id, m.value), '{}'::jsonb) AS kept,
          least($5::int - count(*) FILTER (WHERE m.counts AND NOT $2::jsonb ? m.id),
            2 * $5::int - count(*) FILTER (WHERE NOT $2::jsonb ? m.id)) AS room
        FROM ${members} m WHERE m.counts IS NOT NULL) c)
    WHERE k.account_id = $1
    RETURNING ARRAY(SELECT w.id FROM jsonb_object_keys($2::jsonb) w (id) WHERE k.places ? w.id) AS taken,
      NOT k.places ?& ARRAY(SELECT jsonb_object_keys($2::jsonb))
        AND EXISTS (SELECT FROM ${members} m WHERE m.counts AND NOT m.missed) AS "mayFree"`,
};

export interface Places {
  accountId: string;
  /** Of payments, or of look-ups without one; no more than `most`. */
  ids: readonly string[];
  nowMs: number;
  windowMs: number;
  /** How many of the account may be taken; null: these are recorded, however many there are. */
  most: number | null;
}

export interface Taken {
  /** The ids that have a place. */
  taken: readonly string[];
  /** Some have none, and a place is of a payment whose key may still be shown to exist. */
  mayFree: boolean;
}

/** More than an account can have under way. */
const unbounded = 1_000_000;

export async function takePlaces(
  tx: Transaction,
  { accountId, ids, nowMs, windowMs, most }: Places,
): Promise<Taken> {
  const wanted = Object.fromEntries(ids.map((id) => [id, nowMs]));
  const values = [accountId, JSON.stringify(wanted), nowMs, windowMs, most ?? unbounded];
  const [, [row]] = await Promise.all([tx.run(begin, [accountId]), tx.run<Taken>(take, values)]);
  return row ?? { taken: [], mayFree: false };
}

const look: Statement = {
  name: 'key_place_look',
  text: `SELECT coalesce(bool_or(m.id = ANY ($2::text[])), false) OR least($5::int - count(*) FILTER (WHERE m.counts), 2 * $5::int - count(*)) > 0 AS open,
      coalesce(bool_or(m.counts AND NOT m.missed), false) AS "mayFree"
    FROM key_place k CROSS JOIN LATERAL ${members} m WHERE k.account_id = $1 AND m.counts IS NOT NULL`,
};

/**
 * Takes nothing and writes nothing.
 * @returns what `takePlaces` would answer where none of the ids has or gets a place, else null
 */
export async function lookAtPlaces(
  sql: Queries,
  { accountId, ids, nowMs, windowMs, most }: Places,
): Promise<Taken | null> {
  const values = [accountId, ids, nowMs, windowMs, most ?? unbounded];
  const [row] = await sql.run<{ open: boolean; mayFree: boolean }>(look, values);
  return row && !row.open ? { taken: [], mayFree: row.mayFree } : null;
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
  text: `SELECT min(abs(m.value::bigint)) AS at
    FROM key_place k CROSS JOIN LATERAL ${membersAt('$2', '$3')} m WHERE k.account_id = $1 AND m.counts AND m.missed`,
};

/** When the place of the first miss that counts was taken. */
export const oldestMiss = async (
  sql: Queries,
  { accountId, nowMs, windowMs }: Pick<Places, 'accountId' | 'nowMs' | 'windowMs'>,
): Promise<number | null> =>
  (await sql.run<{ at: number | null }>(oldest, [accountId, nowMs, windowMs]))[0]?.at ?? null;
