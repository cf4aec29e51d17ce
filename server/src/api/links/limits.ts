import { type ApiError, refuse } from '../../ground/errors.ts';
import { gather } from '../../ground/gather.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql, Statement } from '../../ports/sql.ts';

export interface Limit {
  id: string;
  /** So many at once, and as many again in `everyMs`. */
  most: number;
  everyMs: number;
}

/** One of a narrow bucket, and then one of a wide one. */
export interface Place {
  narrow: Limit;
  wide: Limit;
}

const costOf = ({ most, everyMs }: Limit): number => everyMs / most;

const giveBack: Statement = {
  name: 'rate_bucket_give_back',
  text: `UPDATE rate_bucket b SET spent_until = b.spent_until - k.cost FROM unnest($1::text[], $2::float8[]) AS k (id, cost) WHERE b.id = k.id`,
};

const give = (sql: Queries, costs: ReadonlyMap<string, number>): Promise<unknown> =>
  sql.run(giveBack, [[...costs.keys()], [...costs.values()]]);

/** Gives back one that was taken and not used. */
export const giveToBuckets = (sql: Queries, { narrow, wide }: Place): Promise<unknown> =>
  give(sql, new Map([narrow, wide].map((limit) => [limit.id, costOf(limit)])));

/** In the order of ids: whatever removes full buckets locks them in the same order. */
const take: Statement = {
  name: 'rate_bucket_take',
  text: `INSERT INTO rate_bucket AS b (id, spent_until)
    SELECT k.id, $3::float8 + k.cost FROM unnest($1::text[], $2::float8[]) AS k (id, cost) ORDER BY k.id
    ON CONFLICT (id) DO UPDATE SET spent_until = greatest(b.spent_until, $3) + excluded.spent_until - $3
    RETURNING b.id, b.spent_until AS "spentUntil"`,
};

/** The cost of all of them, by bucket. */
function costsOf(places: readonly Place[]): Map<string, number> {
  const costs = new Map<string, number>();
  for (const limit of places.flatMap(({ narrow, wide }) => [narrow, wide]))
    costs.set(limit.id, (costs.get(limit.id) ?? 0) + costOf(limit));
  return costs;
}

/**
 * Takes places in the order in which they were asked for, in the database that all processes share, before anything is done. A refused call spends nothing of
 * the wide one: strangers of one network keep the payers of no other away. It spends nothing of its own bucket either, so that the time in the refusal is true.
 * One statement spends what all of them ask for and locks their buckets; what they do not have is given back before the commit, so no other process sees it.
 * Rejected: counting in this process and telling the others later, as calls with a key do: each charge costs a call of the provider, and a thousand
 * strangers at many processes would make as many.
 * @returns of each the limit that refuses it; null: it has its place
 */
function takeAll(
  { sql, clock }: { sql: Sql; clock: Clock },
  places: readonly Place[],
): Promise<(Limit | null)[]> {
  const costs = costsOf(places);
  return sql.tx(async (tx) => {
    const now = clock.now();
    const rows = await tx.run<{ id: string; spentUntil: number }>(take, [
      [...costs.keys()],
      [...costs.values()],
      now,
    ]);
    const spentUntil = new Map(rows.map((row) => [row.id, row.spentUntil - (costs.get(row.id) ?? 0)]));
    const takes = (limit: Limit): boolean => {
      const after = (spentUntil.get(limit.id) ?? now) + costOf(limit);
      if (after > now + limit.everyMs) return false;
      spentUntil.set(limit.id, after);
      costs.set(limit.id, (costs.get(limit.id) ?? 0) - costOf(limit));
      return true;
    };
    const refusing = places.map(({ narrow, wide }) => (!takes(narrow) ? narrow : takes(wide) ? null : wide));
    if (refusing.some((limit) => limit !== null)) await give(tx, costs);
    return refusing;
  });
}

const refusalBy = ({ most, everyMs }: Limit): ApiError =>
  refuse('rate_limited', { retryAfterSeconds: Math.ceil(everyMs / most / 1000) });

/** Whether it has its place. */
export async function hasPlace(deps: { sql: Sql; clock: Clock }, place: Place): Promise<boolean> {
  const [refusing] = await takeAll(deps, [place]);
  return refusing === null;
}

/** @throws ApiError `rate_limited` */
export type TakePlace = (place: Place) => Promise<void>;

/** Places in one transaction. */
const placesMost = 256;

/** Many callers share a transaction. */
export function gatherPlaces(deps: { sql: Sql; clock: Clock }): TakePlace {
  const taken = gather<Place, Limit | null>({ clock: deps.clock, most: placesMost }, (places) =>
    takeAll(deps, places),
  );
  return async (place) => {
    const refusing = await taken(place);
    if (refusing) throw refusalBy(refusing);
  };
}
