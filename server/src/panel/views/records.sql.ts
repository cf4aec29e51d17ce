import type { Payment } from '../../money/payment.ts';
import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { paymentColumns } from '../../store/rows/payments.sql.ts';
import { paymentOfLine } from '../../store/rows/refunds.sql.ts';
import type { AmountOrder, DateOrder, FilterMark } from '../schema/marks.ts';
import { hasMark } from './marks.sql.ts';

/** A payment's place in a list. */
export interface Place {
  createdAt: number;
  id: string;
}

/** The filters of a list of payments. */
export interface Passing {
  kinds: readonly string[];
  statuses: readonly string[];
  /** In description, the name of payer or receiver, a value of the metadata or the key of a fiscal document, in any case; null: everything. */
  text: string | null;
  minimumCents: number | null;
  maximumCents: number | null;
  mark: FilterMark | null;
}

/** A stretch of the payments of several operations, in the order of their creation. */
export interface RecordSearch extends Passing {
  accountId: string;
  operationIds: readonly string[];
  fromMs: number | null;
  toMs: number | null;
  order: DateOrder;
  /** Where the page before ended: this one begins behind it, in its order. */
  behind: Place | null;
}

/** An order by amount among payments that are looked through anyway. */
export interface ByAmount {
  order: AmountOrder;
  /** Where the page before ended. */
  behind: { cents: number; id: string } | null;
}

const earliest = '1970-01-01T00:00:00.000Z';
const latest = '9999-12-31T23:59:59.999Z';
const lowestId = '00000000-0000-0000-0000-000000000000';

/** How a walk in an order compares places, and the same statement for each order: an index is read from either end. */
const directions = {
  newest: { name: '', sort: 'DESC', from: '<=', behind: '<', within: '>=', to: '>=' },
  oldest: { name: '_oldest', sort: 'ASC', from: '>=', behind: '>', within: '<', to: '<=' },
} as const;
type Direction = (typeof directions)[DateOrder];
const inEachOrder = (of: (direction: Direction) => Statement): Record<DateOrder, Statement> => ({
  newest: of(directions.newest),
  oldest: of(directions.oldest),
});

const sizes = { largest: { sort: 'DESC', behind: '<' }, smallest: { sort: 'ASC', behind: '>' } } as const;

/** The same statement for each order by amount. @param of makes it of the order, the condition of a page and its order, whose values begin at parameter `first` */
export const inEachAmountOrder = (
  first: number,
  of: (order: AmountOrder, isBehind: string, sorted: string) => Statement,
): Record<AmountOrder, Statement> => {
  const one = (order: AmountOrder): Statement => {
    const { sort, behind } = sizes[order];
    const isBehind = `($${first}::bigint IS NULL OR (p.amount_cents, p.id) ${behind} ($${first}, $${first + 1}::uuid))`;
    return of(order, isBehind, `ORDER BY p.amount_cents ${sort}, p.id ${sort}`);
  };
  return { largest: one('largest'), smallest: one('smallest') };
};

export const amountValues = ({ behind }: ByAmount): unknown[] => [behind?.cents ?? null, behind?.id ?? null];

/** Whether payment `p` passes the filters, whose values begin at parameter `first`. */
export const passes = (first: number): string => {
  const value = (nth: number): string => `$${first + nth}`;
  const holds = (where: string): string => `position(${value(1)} IN lower(${where})) > 0`;
  return `p.status = ANY (${value(0)}::text[])
      AND (${value(1)}::text IS NULL OR ${holds('p.description')} OR ${holds(`coalesce(p.payer_name, p.receiver->>'name', '')`)}
        OR p.metadata IS NOT NULL AND EXISTS (SELECT FROM jsonb_each_text(p.metadata) AS m WHERE ${holds('m.value')})
        OR p.fiscal_documents IS NOT NULL AND EXISTS (SELECT FROM jsonb_array_elements(p.fiscal_documents) AS f WHERE ${holds(`f->>'key'`)}))
      AND p.amount_cents >= ${value(2)} AND p.amount_cents <= ${value(3)} AND ${hasMark(value(4))}`;
};

export const passingValues = ({ statuses, text, minimumCents, maximumCents, mark }: Passing): unknown[] => [
  ...[statuses, text, minimumCents ?? 0, maximumCents ?? Number.MAX_SAFE_INTEGER, mark],
];

/**
 * The first place in the order that is so many payments deep in its operation and kind: down to it each holds no more of the window. Each is one walk
 * along `payment_of_kind`, so that a page of what is few reads nothing of what is many.
 */
const selectFloor = inEachOrder(({ name, sort, from, behind, within }) => ({
  name: `panel_records_floor${name}`,
  text: `SELECT p.created_at AS "createdAt", p.id FROM unnest($2::uuid[]) AS o (id), unnest($7::text[]) AS k (kind) CROSS JOIN LATERAL (
      SELECT created_at, id FROM payment p WHERE p.account_id = $1 AND p.operation_id = o.id AND p.kind = k.kind
        AND p.created_at ${within} $5 AND p.created_at ${from} $3 AND (p.created_at, p.id) ${behind} ($3, $4)
      ORDER BY p.created_at ${sort}, p.id ${sort} OFFSET $6::int - 1 LIMIT 1) p
    ORDER BY p.created_at ${sort}, p.id ${sort} LIMIT 1`,
}));

/** @returns null when none holds as many */
export const findFloor = async (sql: Queries, wanted: RecordSearch, depth: number): Promise<Place | null> =>
  (
    await sql.run<Place>(selectFloor[wanted.order], [...startOf(wanted), endOf(wanted), depth, wanted.kinds])
  )[0] ?? null;

/**
 * Each stretch is one walk along `payment_of_kind`, down to the floor; the filters apply to what was read. Bounds of one end are the same
 * instant: of two PostgreSQL may begin at the wider one, and look through everything between them in the index.
 */
const stretches = ({ sort, from, behind, to }: Direction): string =>
  `FROM unnest($2::uuid[]) AS o (id), unnest($7::text[]) AS k (kind) CROSS JOIN LATERAL (
      SELECT * FROM payment p WHERE p.account_id = $1 AND p.operation_id = o.id AND p.kind = k.kind
        AND p.created_at ${to} $5 AND p.created_at ${from} $3 AND (p.created_at, p.id) ${behind} ($3, $4) AND (p.created_at, p.id) ${to} ($5, $6)
      ORDER BY p.created_at ${sort}, p.id ${sort} OFFSET 0) p
    WHERE ${passes(8)}`;

const selectRecords = inEachOrder((direction) => ({
  name: `panel_records${direction.name}`,
  text: `SELECT ${paymentColumns} ${stretches(direction)}
    ORDER BY p.created_at ${direction.sort}, p.id ${direction.sort} LIMIT $13`,
}));

const selectByAmount = inEachAmountOrder(14, (order, isBehind, sorted) => ({
  name: `panel_records_${order}`,
  text: `SELECT ${paymentColumns} ${stretches(directions.newest)} AND ${isBehind} ${sorted} LIMIT $13`,
}));

/** Whose payments, and the place that they are behind: the end of the page before, or that end of the period. */
const startOf = ({ accountId, operationIds, order, fromMs, toMs, behind }: RecordSearch) => {
  const [edge, open] = order === 'newest' ? [toMs, latest] : [fromMs, earliest];
  const within =
    behind !== null &&
    (edge === null || (order === 'newest' ? behind.createdAt < edge : behind.createdAt >= edge));
  return [
    accountId,
    operationIds,
    ...(within
      ? [timestamp(behind.createdAt), behind.id]
      : [edge === null ? open : timestamp(edge), lowestId]),
  ];
};

/** The other end of the period. */
const endOf = ({ order, fromMs, toMs }: RecordSearch): string => {
  const [edge, open] = order === 'newest' ? [fromMs, earliest] : [toMs, latest];
  return edge === null ? open : timestamp(edge);
};

const valuesOf = (wanted: RecordSearch, floor: Place | null, limit: number): unknown[] => [
  ...startOf(wanted),
  ...(floor === null ? [endOf(wanted), lowestId] : [timestamp(floor.createdAt), floor.id]),
  wanted.kinds,
  ...passingValues(wanted),
  limit,
];

/** @param floor the place down to which is read; null: all of the window, of which the caller knows that it is bounded */
export const findRecords = (
  sql: Queries,
  wanted: RecordSearch,
  floor: Place | null,
  limit: number,
): Promise<Payment[]> => sql.run<Payment>(selectRecords[wanted.order], valuesOf(wanted, floor, limit));

/** By amount, among those down to the floor, the newest first. @param floor as `findRecords` takes it */
export const findRecordsByAmount = (
  sql: Queries,
  wanted: RecordSearch,
  by: ByAmount,
  floor: Place | null,
  limit: number,
): Promise<Payment[]> =>
  sql.run<Payment>(selectByAmount[by.order], [...valuesOf(wanted, floor, limit), ...amountValues(by)]);

/**
 * The first payments of the window, at most `$6` over all operations: of those that pass the filters their sealed key and whether the
 * text is in the description. The others count as looked at.
 */
const selectSealedKeys = inEachOrder(({ name, sort, from, behind, within }) => ({
  name: `panel_sealed_keys${name}`,
  text: `SELECT p.id, p.created_at AS "createdAt", CASE WHEN p.passes THEN p.pix_key END AS "pixKey",
      p.passes AND position($9 IN lower(p.description)) > 0 AS described
    FROM unnest($2::uuid[]) AS o (id) CROSS JOIN LATERAL (
      SELECT p.*, p.kind = 'transfer' AND p.status = ANY ($7::text[]) AND p.amount_cents >= $8 AND p.amount_cents <= $10
        AND ${hasMark('$11')} AS passes
      FROM payment p WHERE p.account_id = $1 AND p.operation_id = o.id AND p.created_at ${within} $5 AND p.created_at ${from} $3
        AND (p.created_at, p.id) ${behind} ($3, $4)
      ORDER BY p.created_at ${sort}, p.id ${sort} LIMIT $6) p
    ORDER BY p.created_at ${sort}, p.id ${sort} LIMIT $6`,
}));

export interface SealedKeyRow {
  id: string;
  createdAt: number;
  /** Null: another kind, or a filter leaves it out. */
  pixKey: Buffer | null;
  described: boolean;
}

export const findSealedKeys = (
  sql: Queries,
  wanted: RecordSearch,
  scanned: number,
): Promise<SealedKeyRow[]> =>
  sql.run<SealedKeyRow>(selectSealedKeys[wanted.order], [
    ...startOf(wanted),
    endOf(wanted),
    scanned,
    wanted.statuses,
    wanted.minimumCents ?? 0,
    wanted.text,
    wanted.maximumCents ?? Number.MAX_SAFE_INTEGER,
    wanted.mark,
  ]);

const selectByIds: Statement = {
  name: 'panel_records_by_id',
  text: `SELECT ${paymentColumns} FROM payment p WHERE p.account_id = $1 AND p.id = ANY ($2::uuid[])
      AND p.operation_id = ANY ($3::uuid[])`,
};

export const findRecordsById = (
  sql: Queries,
  accountId: string,
  ids: readonly string[],
  operationIds: readonly string[],
): Promise<Payment[]> => sql.run<Payment>(selectByIds, [accountId, ids, operationIds]);

const selectByEndToEnd: Statement = {
  name: 'panel_records_by_end_to_end',
  text: `SELECT ${paymentColumns} FROM (SELECT * FROM payment WHERE account_id = $1 AND end_to_end = $2 OFFSET 0) p
    WHERE p.operation_id = ANY ($3::uuid[])
    ORDER BY p.created_at DESC LIMIT 100`,
};

export const findRecordsByEndToEnd = (
  sql: Queries,
  accountId: string,
  endToEnd: string,
  operationIds: readonly string[],
): Promise<Payment[]> => sql.run<Payment>(selectByEndToEnd, [accountId, endToEnd, operationIds]);

// ----------------------------------------------------------------------------------------------------------------- ledger

export interface Line {
  seq: number;
  template: string;
  subject: string;
  postedAt: number;
  effectiveAt: number;
  available: number;
  reserved: number;
  held: number;
  cardHeld: number;
  receivable: number;
  feeCents: number;
  availableAfter: number;
  reservedAfter: number;
  heldAfter: number;
  receivableAfter: number;
}

const lineColumns = `seq, template, subject, posted_at AS "postedAt", effective_at AS "effectiveAt", available, reserved, held,
  card_held AS "cardHeld", receivable, fee_revenue AS "feeCents", available_after AS "availableAfter", reserved_after AS "reservedAfter",
  held_after AS "heldAfter", receivable_after AS "receivableAfter"`;

const selectOfSubject: Statement = {
  name: 'panel_lines_of_payment',
  text: `SELECT ${lineColumns} FROM journal
    WHERE account_id = $1
      AND subject = ANY (ARRAY[$2::uuid] || ARRAY(SELECT id FROM refund WHERE account_id = $1 AND payment_id = $2)
        || ARRAY(SELECT id FROM hold WHERE account_id = $1 AND payment_id = $2))
    ORDER BY posted_at, seq`,
};

export const findLinesOf = (sql: Queries, accountId: string, paymentId: string): Promise<Line[]> =>
  sql.run<Line>(selectOfSubject, [accountId, paymentId]);

/** A line of the journal with the payment that it is about; null throughout: it is about none. */
export interface JournalLine extends Line {
  payment: Pick<
    Payment,
    'id' | 'kind' | 'payerName' | 'pixKey' | 'pixKeyType' | 'receiver' | 'description'
  > | null;
}

const selectJournal: Statement = {
  name: 'panel_journal',
  text: `SELECT j.*, p.id AS "paymentId", p.kind, p.payer_name AS "payerName", p.pix_key AS "pixKey", p.pix_key_type AS "pixKeyType", p.receiver, p.description
    FROM (SELECT ${lineColumns} FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4) j
      LEFT JOIN LATERAL (SELECT p.* FROM payment p WHERE p.account_id = $1 AND p.id = ${paymentOfLine} OFFSET 0) p ON true
    ORDER BY j.seq DESC`,
};

/** Above every line: where the newest page begins. */
export const highestSeq = Number.MAX_SAFE_INTEGER;

interface JournalRow extends Line {
  paymentId: string | null;
  kind: Payment['kind'] | null;
  payerName: string | null;
  pixKey: Buffer | null;
  pixKeyType: Payment['pixKeyType'];
  receiver: Payment['receiver'];
  description: string;
}

/** The lines of an operation below `belowSeq`, newest first. */
export const findJournal = async (
  sql: Queries,
  accountId: string,
  operationId: string,
  belowSeq: number,
  limit: number,
): Promise<JournalLine[]> => {
  const rows = await sql.run<JournalRow>(selectJournal, [accountId, operationId, belowSeq, limit]);
  return rows.map(
    ({ paymentId: id, kind, payerName, pixKey, pixKeyType, receiver, description, ...line }) => ({
      ...line,
      payment:
        id === null || kind === null
          ? null
          : { id, kind, payerName, pixKey, pixKeyType, receiver, description },
    }),
  );
};

// ----------------------------------------------------------------------------------------------------------------- events

export interface ToldEvent {
  id: string;
  type: string;
  paymentId: string | null;
  operationId: string;
  createdAt: number;
}

const eventColumns = `id, type, payment_id AS "paymentId", operation_id AS "operationId", created_at AS "createdAt"`;

const selectEvents: Statement = {
  name: 'panel_events_between',
  text: `SELECT ${eventColumns} FROM event WHERE account_id = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $4`,
};

/** Ids are ordered by the time they were made, so a stretch of time is a stretch of the primary key. */
export const findEventsBetween = (
  sql: Queries,
  accountId: string,
  fromMs: number,
  toMs: number,
  limit: number,
): Promise<ToldEvent[]> =>
  sql.run<ToldEvent>(selectEvents, [accountId, firstIdAt(fromMs), firstIdAt(toMs), limit]);

const firstIdAt = (ms: number): string => {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
};
