import type { KeyHolder } from '../ground/caller.ts';
import { cursorOf, placeOf } from '../ground/cursor.ts';
import { refuse, refuseFields } from '../ground/errors.ts';
import type { Clock } from '../ports/clock.ts';
import { lowestIdAt } from '../ports/ids.ts';
import type { Queries, Sql } from '../ports/sql.ts';
import {
  findAccountsAfter,
  findEvent,
  findEvents,
  findLife,
  findPlace,
  type LoggedEvent,
  pruneBelow,
} from './log.sql.ts';

export interface EventLogDeps {
  sql: Sql;
  clock: Clock;
  /** Signs cursors. */
  cursorKey: Buffer;
}

export interface EventQuery {
  limit?: number;
  cursor?: string;
  type?: string;
  paymentId?: string;
  /** RFC 3339. */
  createdFrom?: string;
  createdTo?: string;
}

/** How many events one request reads at most. A filter that matches few of them ends there, with a cursor to continue. */
const scannedMost = 10_000;
/** An id is made within this of the instant in its event. */
const skewMs = 60_000;
/** The time after which an event reports a transfer as unknown, with a margin for the process that writes it. */
const latestWordMs = 3600_000;
const earliest = 0;
const latest = Date.UTC(9999, 11, 31);

export const keptDays = 90;

/** @throws ApiError `event_not_found` */
export async function getEvent(deps: EventLogDeps, holder: KeyHolder, id: string): Promise<LoggedEvent> {
  const event = await findEvent(deps.sql, holder.accountId, id);
  if (!event) throw refuse('event_not_found');
  return event;
}

/**
 * The account's events, newest first. For looking: ids are made before the commit, so a reader that wants every event follows the
 * stream, or reads a stretch of time again.
 * @throws ApiError `invalid_cursor`, `validation_failed`
 */
export async function listEvents(
  deps: EventLogDeps,
  { accountId }: KeyHolder,
  query: EventQuery,
): Promise<{ events: LoggedEvent[]; nextCursor: string | null }> {
  let from = timeOf('createdFrom', query.createdFrom) ?? earliest;
  let to = timeOf('createdTo', query.createdTo) ?? latest;
  const { paymentId = null, type = null, limit = 100 } = query;
  const list = JSON.stringify([accountId, { ...query, cursor: '', limit: 0 }]);
  const now = deps.clock.now();
  const place = query.cursor === undefined ? null : placeOf(deps.cursorKey, list, query.cursor, now);
  if (paymentId !== null) {
    // No index leads from a payment to its events (a random key more in every one of them): its life bounds the search.
    const life = await findLife(deps.sql, accountId, paymentId);
    if (!life) return { events: [], nextCursor: null };
    from = Math.max(from, life.createdAt);
    to = Math.min(to, Math.max(life.updatedAt, life.createdAt + latestWordMs) + 1);
  }
  const stretch = {
    lowest: lowestIdAt(from - skewMs),
    below: place?.id ?? lowestIdAt(to + skewMs),
    from,
    to,
    type,
    paymentId,
  };
  const filtered = type !== null || paymentId !== null;
  const scanned = filtered ? scannedMost : limit + 1 + slack;
  const events = await findEvents(deps.sql, accountId, stretch, scanned, limit + 1);
  const cursorAt = (id: string): string => cursorOf(deps.cursorKey, list, { createdAt: 0, id }, now);
  if (events.length > limit) {
    events.pop();
    return { events, nextCursor: cursorAt((events[limit - 1] as LoggedEvent).id) };
  }
  const reached = await findPlace(deps.sql, accountId, stretch, scanned - 1);
  return { events, nextCursor: reached === undefined ? null : cursorAt(reached) };
}

/** Tests of endpoints stand among the events and are in no list: some more are read for them. */
const slack = 50;

function timeOf(field: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw refuseFields([{ field, code: 'not_a_time' }]);
  return Math.max(earliest, Math.min(ms, latest));
}

// ------------------------------------------------------------------------------------------------------------------ pruning

const accountsPerStep = 100;
const rowsPerStep = 1_000;

/** Removes what stands on events below an id, before they go. @returns how many rows */
export type PruneBefore = (
  sql: Queries,
  accountIds: readonly string[],
  below: string,
  most: number,
) => Promise<number>;

/** Removes events after their 90 days, and first what stands on them, in small transactions. */
export function createPruning(
  { sql, clock }: { sql: Sql; clock: Clock },
  before: PruneBefore,
): { step(): Promise<boolean> } {
  const start = '00000000-0000-0000-0000-000000000000';
  let after = start;
  return {
    /** One stretch of accounts; true until every account was looked at. */
    step: async () => {
      const accountIds = await findAccountsAfter(sql, after, accountsPerStep);
      const last = accountIds.at(-1);
      if (last === undefined) {
        after = start;
        return false;
      }
      const below = lowestIdAt(clock.now() - keptDays * 24 * 3600_000);
      const removed =
        (await before(sql, accountIds, below, rowsPerStep)) +
        (await pruneBelow(sql, accountIds, below, rowsPerStep));
      if (removed === 0) after = last;
      return true;
    },
  };
}
