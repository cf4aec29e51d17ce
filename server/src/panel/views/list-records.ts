import { uuidOf } from '../../edge/validation.ts';
import { cursorOf, cursorOfText, placeOf, textOfCursor } from '../../ground/cursor.ts';
import {
  type Payment,
  type PaymentKind,
  type PaymentStatus,
  paymentKinds,
  paymentStatuses,
} from '../../money/payment.ts';
import { placesIn, placesText } from '../../operate/statement/merge.ts';
import type { Queries } from '../../ports/sql.ts';
import { paymentIdFor } from '../../store/rows/idempotency.ts';
import type { AmountOrder, FilterMark, RecordDate, RecordOrder } from '../schema/marks.ts';
import type { PaidRow } from './paid-records.sql.ts';
import { findPaidPage, findPaidPageByAmount, type Matching } from './paid-records.ts';
import { keysTyped, openedKey, seesWholeKeys } from './receivers.ts';
import {
  type ByAmount,
  findFloor,
  findRecords,
  findRecordsByAmount,
  findRecordsByEndToEnd,
  findRecordsById,
  findSealedKeys,
  type Place,
  type RecordSearch,
  type SealedKeyRow,
} from './records.sql.ts';
import { operationsOf, type RecordDeps, type Viewer } from './records.ts';

export interface RecordFilters {
  operationId?: string;
  kind?: PaymentKind;
  status?: PaymentStatus[];
  from?: string;
  to?: string;
  search?: string;
  minimumCents?: number;
  maximumCents?: number;
  mark?: FilterMark;
  /** The date of the period and of the order; default: created. */
  by?: RecordDate;
  /** Default: newest first. */
  order?: RecordOrder;
}

/**
 * A page of payments. A search for what is rare may end before the page is full: `searchedTo` says how far it has looked. An order by amount is one among the
 * payments back to there.
 */
export interface RecordPage {
  records: Payment[];
  nextCursor: string | null;
  searchedTo: number | null;
}

/**
 * Payments that one request looks through for what a filter wants, over all operations and kinds: as many as usually do, and only where those
 * hold too little the second. Payments of one operation lie far apart in a table of millions: 25,000 of them were 40,000 pages of 8 kB and
 * took five seconds from a cold disk.
 */
const scannedOf = [3_000, 12_000] as const;
/** Sealed keys that one request opens. */
const openedAtMost = 10_000;

/** A page of the account's payments over one operation or all. @throws ApiError */
export async function listRecords(
  deps: RecordDeps,
  account: Viewer,
  filters: RecordFilters,
  page: { cursor?: string; limit?: number },
): Promise<RecordPage> {
  const operations = [...(await operationsOf(deps, account.accountId, filters.operationId)).keys()];
  const search = filters.search?.trim() ?? '';
  const exact = await findExact(deps, account, search, operations);
  if (exact) return { records: exact, nextCursor: null, searchedTo: null };
  const keys = filters.kind !== 'deposit' && seesWholeKeys(account.role) ? keysTyped(search) : [];
  const list = JSON.stringify([account.accountId, operations, filters]);
  const { order } = filters;
  const asked: Asked = {
    filters,
    keys,
    limit: page.limit ?? 50,
    cursor: page.cursor,
    cursors: cursorsOf(deps, list),
    amounts: order === 'largest' || order === 'smallest' ? order : null,
  };
  const wanted = wantedOf(account, filters, operations, search);
  const look = () => (filters.by === 'paid' ? pageOfPaid : pageOfCreated)(deps, wanted, asked);
  return keys.length > 0 ? deps.keySearches.run(account.accountId, look) : look();
}

/** A page as it is asked for. */
interface Asked {
  filters: RecordFilters;
  /** Forms of the Pix key that is looked for; empty: none is. */
  keys: readonly string[];
  limit: number;
  cursor: string | undefined;
  cursors: Cursors;
  amounts: AmountOrder | null;
}

/** The cursors of one list. */
type Cursors = ReturnType<typeof cursorsOf>;

function cursorsOf({ cursorKey, clock }: Pick<RecordDeps, 'cursorKey' | 'clock'>, list: string) {
  const now = clock.now();
  return {
    of: (place: Place): string => cursorOf(cursorKey, list, place, now),
    ofPlaces: (text: string): string => cursorOfText(cursorKey, list, text, now),
    place: (cursor: string): Place => placeOf(cursorKey, list, cursor, now),
    places: (cursor: string) => placesIn(textOfCursor(cursorKey, list, cursor, now)),
  };
}

const wantedOf = (
  { accountId }: Viewer,
  filters: RecordFilters,
  operationIds: readonly string[],
  search: string,
): RecordSearch => ({
  accountId,
  operationIds,
  kinds: filters.kind ? [filters.kind] : paymentKinds,
  statuses: filters.status ?? paymentStatuses,
  fromMs: filters.from === undefined ? null : Date.parse(filters.from),
  toMs: filters.to === undefined ? null : Date.parse(filters.to),
  order: filters.order === 'oldest' ? 'oldest' : 'newest',
  behind: null,
  text: search === '' ? null : search.toLowerCase(),
  minimumCents: filters.minimumCents ?? null,
  maximumCents: filters.maximumCents ?? null,
  mark: filters.mark ?? null,
});

/** The payments that an id, a request key or an end-to-end id names; null: the text is looked for in a list. */
async function findExact(
  deps: Pick<RecordDeps, 'sql' | 'identity'>,
  { accountId, accountNumber }: Viewer,
  search: string,
  operations: readonly string[],
): Promise<Payment[] | null> {
  const id = uuidOf(search) ?? uuidOf(search.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  if (id !== null) {
    const byKey = paymentIdFor(deps.identity, { id: accountId, number: accountNumber }, id);
    const records = await findRecordsById(deps.sql, accountId, [id, byKey], operations);
    if (records.length > 0) return records;
  }
  return /^[A-Za-z0-9]{32}$/.test(search)
    ? findRecordsByEndToEnd(deps.sql, accountId, search, operations)
    : null;
}

async function pageOfCreated(deps: RecordDeps, wanted: RecordSearch, asked: Asked): Promise<RecordPage> {
  const { keys, limit, cursor, cursors, amounts } = asked;
  if (amounts !== null) {
    const by = byAmountOf(amounts, asked);
    if (keys.length > 0) return pageByAmount(await keyedInWindow(deps, wanted, keys), by, asked);
    const [, depth = limit] = depthsOf(wanted, limit);
    const floor = await findFloor(deps.sql, wanted, depth);
    const records = await findRecordsByAmount(deps.sql, wanted, by, floor, limit + 1);
    return pageByAmount({ records, searchedTo: floor?.createdAt ?? null }, by, asked);
  }
  if (cursor !== undefined) wanted.behind = cursors.place(cursor);
  const { records, next } =
    keys.length > 0
      ? await findByKey(deps, wanted, keys, limit)
      : await findPage(deps.sql, wanted, limit, isFiltered(asked) ? depthsOf(wanted, limit) : [limit + 1]);
  return {
    records,
    nextCursor: next && cursors.of(next),
    searchedTo: next && records.length < limit ? next.createdAt : null,
  };
}

async function pageOfPaid(deps: RecordDeps, wanted: RecordSearch, asked: Asked): Promise<RecordPage> {
  const { keys, limit, cursor, cursors, amounts } = asked;
  const [usual, most] = scannedOf;
  const matching: Matching | null = keys.length === 0 ? null : (rows) => keyed(deps, rows, wanted.text, keys);
  const search = matching ? { ...wanted, kinds: ['transfer'], text: null } : wanted;
  const depths = matching ? [usual] : [usual, most];
  if (amounts === null) {
    const places = cursor === undefined ? null : cursors.places(cursor);
    const page = await findPaidPage(deps.sql, search, places, limit, { depths, matching });
    const next = placesText(page.places);
    return {
      records: page.records,
      nextCursor: next === null ? null : cursors.ofPlaces(next),
      searchedTo: page.searchedTo,
    };
  }
  const by = byAmountOf(amounts, asked);
  const found = matching
    ? await findPaidPage(deps.sql, search, null, usual, { depths, matching })
    : await findPaidPageByAmount(deps.sql, search, by, limit + 1, most);
  return pageByAmount(found, by, asked);
}

const byAmountOf = (order: AmountOrder, { cursor, cursors }: Asked): ByAmount => {
  if (cursor === undefined) return { order, behind: null };
  const { createdAt: cents, id } = cursors.place(cursor);
  return { order, behind: { cents, id } };
};

/** A page by amount of payments behind its place, one more than it shows where there are others. */
function pageByAmount(
  { records, searchedTo }: { records: readonly Payment[]; searchedTo: number | null },
  { order, behind }: ByAmount,
  { limit, cursors }: Asked,
): RecordPage {
  const sign = order === 'largest' ? -1 : 1;
  const compared = (cents: number, id: string, other: { cents: number; id: string }): number =>
    sign * (cents - other.cents || (id < other.id ? -1 : 1));
  const left = records
    .filter(
      ({ amountCents, id }) => behind === null || (id !== behind.id && compared(amountCents, id, behind) > 0),
    )
    .sort((one, { amountCents: cents, id }) => compared(one.amountCents, one.id, { cents, id }));
  const shown = left.slice(0, limit);
  const last = left.length > limit ? shown.at(-1) : undefined;
  return {
    records: shown,
    nextCursor: last ? cursors.of({ createdAt: last.amountCents, id: last.id }) : null,
    searchedTo,
  };
}

const isFiltered = ({ filters: { status, mark, search, minimumCents, maximumCents } }: Asked): boolean =>
  [status, mark, search, minimumCents, maximumCents].some((one) => one !== undefined);

/** How many payments of each operation and kind are looked at; each further number only where the one before was too little. */
function depthsOf({ operationIds, kinds }: RecordSearch, limit: number): number[] {
  const lists = Math.max(1, operationIds.length * kinds.length);
  return scannedOf.map((rows) => Math.max(limit + 1, Math.floor(rows / lists)));
}

/**
 * A page of what passes the filters.
 * @param depths how many payments of each operation and kind are looked at; each further one only where that was too little
 * @returns what was found, and the place where the next page continues; null when the whole window was searched
 */
export async function findPage(
  sql: Queries,
  wanted: RecordSearch,
  limit: number,
  depths: readonly number[],
): Promise<{ records: Payment[]; next: Place | null }> {
  let found: { records: Payment[]; next: Place | null } = { records: [], next: null };
  for (const depth of depths) {
    const floor = await findFloor(sql, wanted, depth);
    const records = await findRecords(sql, wanted, floor, limit + 1);
    if (records.length > limit) {
      records.pop();
      return { records, next: records.at(-1) ?? null };
    }
    found = { records, next: floor };
    if (floor === null) break;
  }
  return found;
}

/** Keys that are opened before other requests have their turn: some 2 ms of work. */
const openedAtOnce = 250;

/**
 * Transfers to one of these keys, or with them in the description. Keys are sealed, each with its own nonce, so they are
 * opened one by one: `openedAtMost` for each page, 80 ms of work for 10,000.
 *
 * Rejected: an index over an HMAC of the key. It costs each transfer a hash and one more index entry on a random place, and has to be made
 * again whenever `VINTEM_SECRET` changes; under a secret that stands in the database, a copy of it would give every CPF away in minutes.
 * @returns what was found, and the place where the next search continues; null when the whole period was searched
 */
async function findByKey(
  deps: Pick<RecordDeps, 'sql' | 'secrets' | 'clock'>,
  wanted: RecordSearch,
  keys: readonly string[],
  limit: number,
): Promise<{ records: Payment[]; next: SealedKeyRow | null }> {
  const rows = await findSealedKeys(deps.sql, wanted, openedAtMost);
  const ids: string[] = [];
  let looked = 0;
  for (const row of rows) {
    if (ids.length === limit) break;
    if (looked > 0 && looked % openedAtOnce === 0) await deps.clock.sleep(0);
    looked++;
    const key = openedKey(deps.secrets, row);
    if (row.described || (key !== null && keys.includes(key))) ids.push(row.id);
  }
  const records = await findRecordsById(deps.sql, wanted.accountId, ids, wanted.operationIds);
  const place = new Map(ids.map((id, index) => [id, index]));
  records.sort((one, other) => (place.get(one.id) ?? 0) - (place.get(other.id) ?? 0));
  const wholePeriod = looked === rows.length && rows.length < openedAtMost;
  return { records, next: wholePeriod ? null : (rows[looked - 1] ?? null) };
}

/** The same of all that one request opens. */
async function keyedInWindow(
  deps: Pick<RecordDeps, 'sql' | 'secrets' | 'clock'>,
  wanted: RecordSearch,
  keys: readonly string[],
): Promise<{ records: Payment[]; searchedTo: number | null }> {
  const { records, next } = await findByKey(deps, wanted, keys, openedAtMost);
  return { records, searchedTo: next?.createdAt ?? null };
}

/** Of transfers those to one of these keys, or with them in the description. */
async function keyed(
  deps: Pick<RecordDeps, 'secrets' | 'clock'>,
  rows: readonly PaidRow[],
  text: string | null,
  keys: readonly string[],
): Promise<PaidRow[]> {
  const found: PaidRow[] = [];
  for (const [at, row] of rows.entries()) {
    if (at > 0 && at % openedAtOnce === 0) await deps.clock.sleep(0);
    const { payment } = row;
    const key = openedKey(deps.secrets, payment);
    const described = text !== null && payment.description.toLowerCase().includes(text);
    if (described || (key !== null && keys.includes(key))) found.push(row);
  }
  return found;
}
