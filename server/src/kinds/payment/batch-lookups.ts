import { gather } from '../../ground/gather.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries } from '../../ports/sql.ts';
import { type FoundPayment, findPayments, type Scope } from './lookup.sql.ts';

/** A lookup by id. Every query begins after its lookups were asked for, so each sees what was committed before it. */
export type FindPayment = (scope: Scope, id: string) => Promise<FoundPayment | undefined>;

/** More in one query gain nothing. */
const most = 256;

/** Combines lookups of many callers into one query. */
export function gatherLookups({ sql, clock }: { sql: Queries; clock: Clock }): FindPayment {
  const find = gather<Scope & { id: string }, FoundPayment | undefined>({ clock, most }, async (asked) => {
    const rows = await findPayments(sql, asked, clock.now());
    const found = new Map(rows.map((row) => [row.operationId + row.id, row]));
    return asked.map(({ operationId, id }) => found.get(operationId + id));
  });
  return ({ accountId, operationId }, id) => find({ accountId, operationId, id });
}
