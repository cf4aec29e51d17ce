import { refuse } from '../../ground/errors.ts';
import type { Payment } from '../../money/payment.ts';
import { mergeInOrder, type Piece } from '../../operate/statement/merge.ts';
import { findPlaces, findPosted } from '../../operate/statement/statement.sql.ts';
import type { Queries } from '../../ports/sql.ts';
import { findPaid, findPaidByAmount, type PaidRow, type PaidStretch } from './paid-records.sql.ts';
import type { ByAmount, RecordSearch } from './records.sql.ts';

/**
 * Payments by the time at which their money moved. The books have them in this order already: a settlement is a journal, and a chain is in the order of its
 * postings. So a period is found by halving, as in a statement, and a page is a walk along the chain.
 *
 * Rejected: an index over the time of settlement. Each payment would write one entry more, 100 bytes of WAL, for a list that a person opens now and then.
 */
export interface PaidPage {
  records: Payment[];
  /** Where each operation continues; empty: this was the last page. */
  places: ReadonlyMap<string, number>;
  /** How far was looked, where the page is not full; null: everywhere. */
  searchedTo: number | null;
}

/** Picks the payments that a search by key looks for. */
export type Matching = (rows: readonly PaidRow[]) => Promise<PaidRow[]>;

/**
 * A page in the order of the journals.
 * @param places of the page before; null: the first one
 * @param depths how many journals are looked at, over all operations; each further one only where that was too little
 * @param matching null: the filters of the search are enough
 * @throws ApiError `operation_not_found`
 */
export async function findPaidPage(
  sql: Queries,
  wanted: RecordSearch,
  places: ReadonlyMap<string, number> | null,
  limit: number,
  { depths, matching }: { depths: readonly number[]; matching: Matching | null },
): Promise<PaidPage> {
  const unread = await unreadOf(sql, wanted, places);
  let page: PaidPage = { records: [], places: new Map(), searchedTo: null };
  for (const depth of depths) {
    const each = Math.max(1, Math.floor(depth / unread.length));
    const pieces = await Promise.all(
      unread.map((stretch) => pieceOf(sql, wanted, stretch, { each, limit, matching })),
    );
    const merged = mergeInOrder(pieces, limit, wanted.order);
    const records = merged.rows.map(({ row }) => row.payment);
    page = { records, places: merged.places, searchedTo: null };
    if (records.length === limit || merged.places.size === 0) return page;
    const reached = pieces.flatMap(({ rest }) => (rest ? [rest.at] : []));
    page.searchedTo = wanted.order === 'newest' ? Math.max(...reached) : Math.min(...reached);
  }
  return page;
}

/** By amount, among the newest of the period. @param depth how many journals are looked at, over all operations */
export async function findPaidPageByAmount(
  sql: Queries,
  wanted: RecordSearch,
  by: ByAmount,
  limit: number,
  depth: number,
): Promise<{ records: Payment[]; searchedTo: number | null }> {
  const unread = await unreadOf(sql, wanted, null);
  const each = Math.max(1, Math.floor(depth / unread.length));
  const stretches = unread.map((one) => ({ ...one, after: Math.max(one.after, one.upTo - each) }));
  const cut = stretches.filter(({ after }, at) => after > (unread[at]?.after ?? 0));
  const ends = await Promise.all(
    cut.map(({ operationId, after }) =>
      findPosted(sql, { accountId: wanted.accountId, operationId }, after + 1),
    ),
  );
  const sinceMs = ends.length === 0 ? null : Math.max(...ends.map(({ postedAt }) => postedAt));
  const records = await findPaidByAmount(sql, wanted, by, { stretches, sinceMs }, limit);
  return { records, searchedTo: sinceMs };
}

/** Of each operation the journals of the period that no page before has shown. */
async function unreadOf(
  sql: Queries,
  { accountId, operationIds, fromMs, toMs, order }: RecordSearch,
  places: ReadonlyMap<string, number> | null,
): Promise<PaidStretch[]> {
  return Promise.all(
    operationIds.map(async (operationId) => {
      const found = await findPlaces(sql, { accountId, operationId }, fromMs, toMs);
      if (!found) throw refuse('operation_not_found');
      const [after, upTo] = [found.opening.seq, Math.max(found.opening.seq, found.closing.seq)];
      if (places === null) return { operationId, after, upTo };
      const beyond = places.get(operationId);
      if (beyond === undefined) return { operationId, after, upTo: after };
      return order === 'newest'
        ? { operationId, after, upTo: Math.max(after, Math.min(upTo, beyond - 1)) }
        : { operationId, after: Math.min(upTo, Math.max(after, beyond)), upTo };
    }),
  );
}

/** The part of one operation that a page may show, and where the reading of it continues. */
async function pieceOf(
  sql: Queries,
  wanted: RecordSearch,
  { operationId, after, upTo }: PaidStretch,
  { each, limit, matching }: { each: number; limit: number; matching: Matching | null },
): Promise<Piece<PaidRow>> {
  const isNewest = wanted.order === 'newest';
  const low = isNewest ? Math.max(after, upTo - each) : after;
  const high = isNewest ? upTo : Math.min(upTo, after + each);
  if (low === high) return { operationId, rows: [], rest: null };
  const most = matching ? each : limit + 1;
  const found = await findPaid(sql, wanted, { operationId, after: low, upTo: high }, most);
  const end = !matching && found.length === most ? found.at(-1) : undefined;
  const rows = matching ? await matching(found) : found;
  const beyond = end?.seq ?? (isNewest ? low + 1 : high);
  if (isNewest ? beyond <= after + 1 : beyond >= upTo) return { operationId, rows, rest: null };
  const { postedAt } = end ?? (await findPosted(sql, { accountId: wanted.accountId, operationId }, beyond));
  return { operationId, rows, rest: { beyond, at: postedAt } };
}
