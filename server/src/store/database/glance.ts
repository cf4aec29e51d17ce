import type { Clock } from '../../ports/clock.ts';
import type { Queries, Statement } from '../../ports/sql.ts';

/**
 * Whether loops without work have any, by one statement for many of them. It says too much rather than too little: a loop that it calls makes its
 * step, which decides. Loops ask at their own times, so what is due is found as soon as before.
 *
 * Each place gives a column, since Citus may read its row from another node as a table.
 *
 * Rejected: LISTEN and NOTIFY, a lock on the whole database at every commit.
 *
 * @param places by the work that a row there may mean: a table with its condition
 */
export const glanceStatement = (name: string, places: Record<string, readonly string[]>): Statement => ({
  name,
  text: Object.entries(places)
    .flatMap(([work, each]) =>
      each.map((place) => `SELECT '${work}' AS work FROM (SELECT 1 AS one FROM ${place} LIMIT 1) AS any_row`),
    )
    .join(' UNION ALL '),
});

/** Loops that wake at one time share a look. */
const sharedMs = 50;

/** @returns what is seen now */
export function glanceWith(
  { sql, clock }: { sql: Queries; clock: Clock },
  statement: Statement,
  values: () => readonly unknown[],
): () => Promise<readonly string[]> {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let seen: Promise<readonly string[]> = Promise.resolve([]);
  return () => {
    if (clock.monotonicMs() - lookedAt <= sharedMs) return seen;
    lookedAt = clock.monotonicMs();
    seen = sql.run<{ work: string }>(statement, values()).then((rows) => rows.map(({ work }) => work));
    return seen;
  };
}
