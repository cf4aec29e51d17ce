import type { Clock } from '../ports/clock.ts';
import type { Queries } from '../ports/sql.ts';
import { type FoundPayment, findPayments, type Scope } from './lookup.sql.ts';

/** A lookup by id. Every query begins after its lookups were asked for, so each sees what was committed before it. */
export type FindPayment = (scope: Scope, id: string) => Promise<FoundPayment | undefined>;

/** More in one query gain nothing. */
const most = 256;

interface Waiting extends Scope {
  id: string;
  resolve(found: FoundPayment | undefined): void;
  reject(error: unknown): void;
}

/**
 * Combines lookups of many callers into one query. While a query is under way the next lookups collect, so a lone caller never waits and
 * many callers share the cost of one round trip.
 */
export function gatherLookups({ sql, clock }: { sql: Queries; clock: Clock }): FindPayment {
  let waiting: Waiting[] = [];
  let working = false;

  async function work(): Promise<void> {
    working = true;
    // What came in one turn of the event loop shares the first query as well.
    await Promise.resolve();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, most);
      waiting = waiting.slice(most);
      try {
        const found = new Map<string, FoundPayment>();
        for (const row of await findPayments(sql, batch, clock.now()))
          found.set(row.operationId + row.id, row);
        for (const { operationId, id, resolve } of batch) resolve(found.get(operationId + id));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    working = false;
  }

  return ({ accountId, operationId }, id) =>
    new Promise((resolve, reject) => {
      waiting.push({ accountId, operationId, id, resolve, reject });
      if (!working) void work();
    });
}
