import type { Queries, Statement } from '../../ports/sql.ts';
import { deliveryColumns, type StoredDelivery } from './inbound.sql.ts';

/** Whose deliveries wait in a line: the account of this number, or 0 for those that name none or several. */
export interface DeliveryTurn {
  line: number;
}

/** As the index `inbound_turn` has it. */
const firstBehind = (line: string): string => `SELECT i.line, i.next_at FROM inbound i
        WHERE i.connection = $1 AND i.applied_at IS NULL AND i.authentic AND i.line > ${line}
        ORDER BY i.line, i.next_at LIMIT 1`;

/** From line to line: of each only the delivery that is due first is read. */
const look: Statement = {
  name: 'inbound_turns',
  text: `WITH RECURSIVE seen (line, next_at, n) AS (
      SELECT f.*, 1 FROM (${firstBehind('$2::bigint')}) AS f
      UNION ALL
      SELECT f.*, seen.n + 1 FROM seen CROSS JOIN LATERAL (${firstBehind('seen.line')}) AS f WHERE seen.n < $3)
    SELECT line, next_at <= $4 AS "isDue" FROM seen ORDER BY n`,
};

/** The next lines with deliveries, and whether one of each is due. @param behind null: from the first one */
export const lookForDeliveryTurns = (
  sql: Queries,
  connection: string,
  behind: DeliveryTurn | null,
  now: number,
  most: number,
): Promise<(DeliveryTurn & { isDue: boolean })[]> =>
  sql.run(look, [connection, behind?.line ?? -1, most, new Date(now).toISOString()]);

const left: Statement = {
  name: 'inbound_left_of_turns',
  text: `SELECT d.* FROM unnest($2::bigint[]) AS t (line)
      CROSS JOIN LATERAL (SELECT ${deliveryColumns} FROM inbound i
        WHERE i.connection = $1 AND i.applied_at IS NULL AND i.authentic AND i.line = t.line AND i.next_at <= $3
        ORDER BY i.next_at LIMIT $4) AS d`,
};

/** As `findLeft`, of each line what is due first, `each` at most. */
export const findLeftOfTurns = (
  sql: Queries,
  connection: string,
  turns: readonly DeliveryTurn[],
  now: number,
  each: number,
): Promise<StoredDelivery[]> =>
  sql.run<StoredDelivery>(left, [
    connection,
    turns.map(({ line }) => line),
    new Date(now).toISOString(),
    each,
  ]);
