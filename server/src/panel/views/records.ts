import { uuidOf } from '../../edge/validation.ts';
import { cursorOf, placeOf } from '../../ground/cursor.ts';
import type { Language } from '../../ground/errors.ts';
import { refuse } from '../../ground/errors.ts';
import type { Places } from '../../ground/places.ts';
import type { Secrets } from '../../ground/secrets.ts';
import { isoOf, viewOf } from '../../kinds/payment/view.ts';
import {
  type Payment,
  type PaymentKind,
  type PaymentStatus,
  paymentKinds,
  paymentStatuses,
} from '../../money/payment.ts';
import { receivedCents } from '../../money/refund.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Queries, Sql } from '../../ports/sql.ts';
import { paymentIdFor } from '../../store/rows/idempotency.ts';
import type { Membership } from '../people/members.sql.ts';
import type { FilterMark, Mark, RecordOrder } from '../schema/marks.ts';
import { findMarks } from './marks.sql.ts';
import { findBalances } from './overview.sql.ts';
import { keysTyped, openedKey, type ReceiverOf, receiversFor, seesWholeKeys } from './receivers.ts';
import {
  findFloor,
  findRecords,
  findRecordsByEndToEnd,
  findRecordsById,
  findSealedKeys,
  type JournalLine,
  type Line,
  type Place,
  type RecordSearch,
  type SealedKeyRow,
} from './records.sql.ts';

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
  /** By creation; default: newest first. */
  order?: RecordOrder;
}

export interface RecordDeps {
  sql: Sql;
  clock: Clock;
  secrets: Secrets;
  /** The installation's identity secret. */
  identity: Buffer;
  /** Signs cursors. */
  cursorKey: Buffer;
  /** Where sealed keys are opened for a search: 80 ms of work for a page. */
  keySearches: Places;
}

/** Who looks, at which account. */
export type Viewer = Pick<Membership, 'accountId' | 'accountNumber' | 'role'>;

/** A page of payments. A search for what is rare may end before the page is full: `searchedTo` says how far it has looked. */
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
const scannedOf = [3_000, 12_000];
/** Sealed keys that one request opens. */
const openedAtMost = 10_000;

/** The operations that are looked at. @throws ApiError `operation_not_found` */
export async function operationsOf(
  deps: { sql: Sql },
  accountId: string,
  operationId: string | undefined,
): Promise<Map<string, string>> {
  const names = new Map((await findBalances(deps.sql, accountId)).map(({ id, name }) => [id, name]));
  if (operationId === undefined) return names;
  const name = names.get(operationId);
  if (name === undefined) throw refuse('operation_not_found');
  return new Map([[operationId, name]]);
}

/** A page of the account's payments, by their creation, over one operation or all. @throws ApiError */
export async function listRecords(
  deps: RecordDeps,
  account: Viewer,
  filters: RecordFilters,
  page: { cursor?: string; limit?: number },
): Promise<RecordPage> {
  const operations = [...(await operationsOf(deps, account.accountId, filters.operationId)).keys()];
  const wanted: RecordSearch = {
    accountId: account.accountId,
    operationIds: operations,
    kinds: filters.kind ? [filters.kind] : paymentKinds,
    statuses: filters.status ?? paymentStatuses,
    fromMs: filters.from === undefined ? null : Date.parse(filters.from),
    toMs: filters.to === undefined ? null : Date.parse(filters.to),
    order: filters.order ?? 'newest',
    behind: null,
    text: null,
    minimumCents: filters.minimumCents ?? null,
    maximumCents: filters.maximumCents ?? null,
    mark: filters.mark ?? null,
  };
  const search = filters.search?.trim() ?? '';
  const id = uuidOf(search) ?? uuidOf(search.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  if (id !== null) {
    const number = account.accountNumber;
    const byKey = paymentIdFor(deps.identity, { id: account.accountId, number }, id);
    const records = await findRecordsById(deps.sql, account.accountId, [id, byKey], operations);
    if (records.length > 0) return { records, nextCursor: null, searchedTo: null };
  }
  if (/^[A-Za-z0-9]{32}$/.test(search)) {
    const records = await findRecordsByEndToEnd(deps.sql, account.accountId, search, operations);
    return { records, nextCursor: null, searchedTo: null };
  }
  wanted.text = search === '' ? null : search.toLowerCase();

  const key = deps.cursorKey;
  const list = JSON.stringify([account.accountId, operations, filters]);
  const now = deps.clock.now();
  if (page.cursor !== undefined) wanted.behind = placeOf(key, list, page.cursor, now);
  const limit = page.limit ?? 50;
  const keys = filters.kind !== 'deposit' && seesWholeKeys(account.role) ? keysTyped(search) : [];
  if (keys.length > 0) {
    const found = await deps.keySearches.run(account.accountId, () => findByKey(deps, wanted, keys, limit));
    const { records, next } = found;
    return {
      records,
      nextCursor: next && cursorOf(key, list, next, now),
      searchedTo: next && records.length < limit ? next.createdAt : null,
    };
  }
  const { records, next } = await findPage(deps.sql, wanted, limit, depthsOf(wanted, filters, limit));
  return {
    records,
    nextCursor: next && cursorOf(key, list, next, now),
    searchedTo: next && records.length < limit ? next.createdAt : null,
  };
}

/** Without a filter the page itself is enough. */
function depthsOf(wanted: RecordSearch, { status }: RecordFilters, limit: number): number[] {
  const { text, minimumCents, maximumCents, operationIds, kinds, mark } = wanted;
  if (!status && mark === null && text === null && minimumCents === null && maximumCents === null)
    return [limit + 1];
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

/** The name of a payment for people: who paid or was paid, and what for. */
export const namesOf = (
  payment: Pick<Payment, 'id' | 'kind' | 'payerName' | 'pixKey' | 'pixKeyType' | 'receiver' | 'description'>,
  receiverOf: ReceiverOf,
) => ({
  kind: payment.kind,
  payerName: payment.payerName,
  pixKey: receiverOf(payment),
  pixKeyType: payment.pixKeyType,
  receiver: payment.receiver,
  description: payment.description,
});

/** The names of some payments by their id; of deleted operations none. */
export async function findNames(
  deps: Pick<RecordDeps, 'sql' | 'secrets'>,
  { accountId, role }: Viewer,
  ids: readonly (string | null)[],
  operationIds: readonly string[],
): Promise<(id: string | null) => ReturnType<typeof namesOf> | null> {
  const known = ids.filter((id): id is string => id !== null);
  const records = known.length === 0 ? [] : await findRecordsById(deps.sql, accountId, known, operationIds);
  const receiverOf = receiversFor(deps.secrets, role);
  const names = new Map(records.map((payment) => [payment.id, namesOf(payment, receiverOf)]));
  return (id) => (id === null ? null : (names.get(id) ?? null));
}

export const viewOfRecord = (payment: Payment, language: Language, receiverOf: ReceiverOf) => ({
  ...viewOf(payment, language),
  payerName: payment.payerName,
  pixKey: receiverOf(payment),
  pixKeyType: payment.pixKeyType,
  receiver: payment.receiver,
  description: payment.description,
  requestKey: payment.requestKey,
  ...(payment.kind === 'transfer' && payment.returnedCents > 0
    ? { returnedCents: payment.returnedCents }
    : {}),
});

/** The turns of some payments beside their states, and what the provider took back of each. */
export async function marksOf(
  sql: Queries,
  accountId: string,
  records: readonly Payment[],
): Promise<(payment: Payment) => { marks: Mark[]; debitedCents: number }> {
  const found =
    records.length === 0
      ? []
      : await findMarks(
          sql,
          accountId,
          records.map(({ id }) => id),
        );
  const byId = new Map(found.map((one) => [one.id, one]));
  return (payment) => {
    const { id, refundedCents } = payment;
    const received = receivedCents(payment) || payment.amountCents;
    const { open = false, odd = false, debitedCents = 0, returnedCents = 0 } = byId.get(id) ?? {};
    const list: [Mark, boolean][] = [
      ['disputed', open],
      ['dispute_lost', debitedCents > 0],
      ['refunded', refundedCents > 0 && refundedCents >= received],
      ['partly_refunded', refundedCents > 0 && refundedCents < received],
      ['odd', odd],
      ['returned', returnedCents > 0],
    ];
    return { marks: list.filter(([, has]) => has).map(([mark]) => mark), debitedCents };
  };
}

export const viewOfLine = (line: Line) => ({
  seq: line.seq,
  template: line.template,
  paymentId: line.subject,
  postedAt: isoOf(line.postedAt),
  availableCents: line.available,
  reservedCents: line.reserved,
  heldCents: line.held,
  cardHeldCents: line.cardHeld,
  feeCents: line.feeCents,
  balanceAfterCents: line.availableAfter - line.receivableAfter,
});

/** A line of the journal with the names of its payment; null: it is about none, as a hold is. */
export const viewOfJournalLine = (line: JournalLine, receiverOf: ReceiverOf) => ({
  ...viewOfLine(line),
  ...(line.payment && { paymentId: line.payment.id }),
  payment: line.payment && namesOf(line.payment, receiverOf),
});
