import { cursorOf, placeOf } from '../../ground/cursor.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Sql } from '../../ports/sql.ts';
import { findPlace, findRequests, type RequestFilter, type ShownRequest } from './request-log.sql.ts';

/** How many rows one request reads at most. A filter that matches few of them ends there, with a cursor to continue. */
const scannedMost = 10_000;

export interface RequestListDeps {
  sql: Sql;
  clock: Clock;
  /** Signs cursors. */
  cursorKey: Buffer;
}

/** An account's requests, newest first. @throws ApiError `invalid_cursor` */
export async function listRequests(
  { sql, clock, cursorKey }: RequestListDeps,
  accountId: string,
  filter: RequestFilter,
  page: { cursor?: string | undefined; limit: number },
): Promise<{ requests: ShownRequest[]; nextCursor: string | null }> {
  const list = JSON.stringify([accountId, 'requests', filter]);
  const now = clock.now();
  const below = page.cursor === undefined ? filter.belowId : placeOf(cursorKey, list, page.cursor, now).id;
  const cursorAt = (id: string): string => cursorOf(cursorKey, list, { createdAt: 0, id }, now);
  const requests = await findRequests(sql, accountId, below, filter, page.limit + 1, scannedMost);
  if (requests.length > page.limit) {
    requests.pop();
    return { requests, nextCursor: cursorAt((requests[page.limit - 1] as ShownRequest).id) };
  }
  // A payment's requests are few: all of them were read.
  const reached =
    filter.paymentId === null
      ? await findPlace(sql, accountId, below, filter.fromId, scannedMost)
      : undefined;
  return { requests, nextCursor: reached === undefined ? null : cursorAt(reached) };
}
