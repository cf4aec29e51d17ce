import type { Clock } from '../ports/clock.ts';
import { lowestIdAt } from '../ports/ids.ts';
import type { Sql, Statement } from '../ports/sql.ts';

/**
 * Removes raw deliveries of the providers, after 90 days. How long every other table keeps its rows stands in `main/retention.ts`.
 *
 * Small steps, the oldest first, found by their id, which begins with the time: no index of its own, and no scan.
 * What has not been applied yet stays, however old.
 */
const keptMs = 90 * 86_400_000;
const rowsPerStep = 500;

const prune: Statement = {
  name: 'inbound_prune',
  text: `WITH old AS (
      SELECT id FROM inbound WHERE id < $1 AND (applied_at IS NOT NULL OR NOT authentic)
      ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
    DELETE FROM inbound i USING old WHERE i.id = old.id
    RETURNING i.id`,
};

/** @returns whether there is more to remove at once */
export async function stepRetention({ sql, clock }: { sql: Sql; clock: Clock }): Promise<boolean> {
  const removed = await sql.run(prune, [lowestIdAt(clock.now() - keptMs), rowsPerStep]);
  return removed.length === rowsPerStep;
}
