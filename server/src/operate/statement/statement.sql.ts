import type { Queries, Statement } from '../../ports/sql.ts';
import { timestamp } from '../../store/database/pool.ts';
import { paymentOfLine } from '../../store/rows/refunds.sql.ts';
import type { Figures, TransferFees } from './figures.ts';
import type { Entry, EntrySum, LinePayment } from './line.ts';

/** Every statement names account and operation: the operation's chain, and of its payments only. */
export interface Scope {
  accountId: string;
  operationId: string;
}

/** A place in an operation's chain: the last journal before an instant, 0 before the first one. */
export interface Place {
  seq: number;
  /** Available less what is owed, after that journal. */
  balanceCents: number;
}

/**
 * The last journal before each of two instants, found by halving: `seq` has no gaps, so some forty looks along the primary key replace an
 * index by time, which every posting would have to write.
 *
 * `posted_at` follows `seq` but for the clocks of processes, which differ by less than a second. Steps of fixed powers of two give the
 * same place for the same instant however long the chain has become, and a later instant never an earlier place. So stretches that follow
 * each other share no journal and miss none, and a line that a slow clock posted late is in the later one.
 *
 * Each look is a subquery that gives a value. With EXISTS or a join in its place, PostgreSQL may read the whole chain: it did for chains
 * above some 50,000 journals.
 */
const selectPlaces: Statement = {
  name: 'statement_places',
  text: `WITH RECURSIVE halving (nth, at, seq, step) AS (
      SELECT t.nth, t.at, 0::bigint, 1::bigint << (floor(log(2, greatest(b.seq, 1)))::int + 1)
      FROM balance b, (VALUES (1, $3::timestamptz), (2, $4)) AS t (nth, at)
      WHERE b.account_id = $1 AND b.operation_id = $2 AND b.deleted_at IS NULL
      UNION ALL
      SELECT h.nth, h.at, h.seq + CASE WHEN (SELECT j.posted_at < h.at FROM journal j WHERE j.account_id = $1 AND j.chain_id = $2
          AND j.seq = h.seq + h.step) THEN h.step ELSE 0 END, h.step / 2
      FROM halving h WHERE h.step > 0)
    SELECT h.seq, coalesce((SELECT j.available_after - j.receivable_after FROM journal j
        WHERE j.account_id = $1 AND j.chain_id = $2 AND j.seq = h.seq), 0) AS "balanceCents"
    FROM halving h WHERE h.step = 0 ORDER BY h.nth`,
};

/** Before everything that is posted, and after it. */
const earliestMs = 0;
const latestMs = Date.UTC(9999, 11, 31);

/** @returns undefined when the operation was deleted */
export async function findPlaces(
  sql: Queries,
  scope: Scope,
  fromMs: number | null,
  toMs: number | null,
): Promise<{ opening: Place; closing: Place } | undefined> {
  const [opening, closing] = await sql.run<Place>(selectPlaces, [
    scope.accountId,
    scope.operationId,
    timestamp(fromMs ?? earliestMs),
    timestamp(toMs ?? latestMs),
  ]);
  return opening && closing && { opening, closing };
}

/**
 * Journals that leave the balance as it is have no line, and they can stand in any number beside each other: how many are looked through
 * is bounded, and they count by `seq`, which has no gaps. The payment is looked up behind OFFSET 0, a barrier to the planner: else it
 * may read all payments of the operation for one page.
 */
const entriesIn = (order: 'ASC' | 'DESC'): Statement => ({
  name: order === 'ASC' ? 'statement_entries' : 'statement_entries_newest',
  text: `SELECT j.seq, j.template, j.posted_at AS "postedAt", j.available, j.held, j.receivable, j.fee_revenue AS "feeRevenue",
      j.available_after AS "availableAfter", j.receivable_after AS "receivableAfter",
      p.id, p.kind, p.fee_cents AS "feeCents", p.description, p.payer_name AS "payerName", p.pix_key AS "pixKey",
      p.pix_key_type AS "pixKeyType", p.receiver, p.end_to_end AS "endToEnd", p.request_key AS "requestKey", p.metadata,
      p.fiscal_documents AS "fiscalDocuments",
      h.reason AS "holdReason", h.payment_id IS NOT NULL AS disputed
    FROM journal j LEFT JOIN hold h ON h.account_id = $1 AND h.id = j.subject AND j.template IN ('hold', 'releaseHold') LEFT JOIN LATERAL (SELECT p.* FROM payment p WHERE p.account_id = $1 AND p.id = ${paymentOfLine} OFFSET 0) p
      ON p.operation_id = $2
    WHERE j.account_id = $1 AND j.chain_id = $2 AND j.seq > $3 AND j.seq <= $4
      AND (j.available <> 0 OR j.held <> 0 OR j.receivable <> 0)
    ORDER BY j.seq ${order} LIMIT $5`,
});
const selectEntries = entriesIn('ASC');
const selectNewest = entriesIn('DESC');

type Row = Omit<Entry, 'payment' | 'hold'> & { [Field in keyof LinePayment]: LinePayment[Field] | null } & {
  holdReason: string | null;
  disputed: boolean;
};

/** Journals after `afterSeq` and up to `lastSeq` that may have lines, the oldest first. */
export async function findEntries(
  sql: Queries,
  scope: Scope,
  afterSeq: number,
  lastSeq: number,
  limit: number,
): Promise<Entry[]> {
  const values = [scope.accountId, scope.operationId, afterSeq, lastSeq, limit];
  return (await sql.run<Row>(selectEntries, values)).map(entryOf);
}

/** The same from the newest on. */
export async function findNewestEntries(
  sql: Queries,
  scope: Scope,
  afterSeq: number,
  lastSeq: number,
  limit: number,
): Promise<Entry[]> {
  const values = [scope.accountId, scope.operationId, afterSeq, lastSeq, limit];
  return (await sql.run<Row>(selectNewest, values)).map(entryOf);
}

function entryOf(row: Row): Entry {
  const {
    id,
    kind,
    feeCents,
    description,
    payerName,
    pixKey,
    pixKeyType,
    receiver,
    endToEnd,
    requestKey,
    metadata,
    fiscalDocuments,
    holdReason,
    disputed,
    ...journal
  } = row;
  const hold = holdReason === null ? null : { disputed, reason: holdReason };
  if (id === null || kind === null) return { ...journal, hold, payment: null };
  const payment = {
    id,
    kind,
    feeCents: feeCents ?? 0,
    description: description ?? '',
    payerName,
    pixKey,
    pixKeyType,
    receiver,
    endToEnd,
    requestKey: requestKey ?? '',
    metadata,
    fiscalDocuments,
  };
  return { ...journal, hold, payment };
}

/** Grouped by the signs of what a journal's lines can be, see `figuresOf`. */
const selectSums: Statement = {
  name: 'statement_sums',
  text: `SELECT template, sum(available) AS available, sum(held) AS held, sum(receivable) AS receivable,
      sum(fee_revenue) AS "feeRevenue"
    FROM journal WHERE account_id = $1 AND chain_id = $2 AND seq > $3 AND seq <= $4
      AND (available <> 0 OR held <> 0 OR receivable <> 0)
    GROUP BY template, sign(held), sign(fee_revenue), sign(available + receivable), sign(available + receivable + held),
      sign(available + receivable + held + fee_revenue)`,
};

/** It reads all journals of the stretch: the caller bounds it. */
export const findSums = (
  sql: Queries,
  scope: Scope,
  afterSeq: number,
  lastSeq: number,
): Promise<EntrySum[]> =>
  sql.run<EntrySum>(selectSums, [scope.accountId, scope.operationId, afterSeq, lastSeq]);

const selectTransferFees: Statement = {
  name: 'statement_transfer_fees',
  text: `SELECT coalesce(sum(p.fee_cents) FILTER (WHERE j.template = 'reserve'), 0)::bigint AS "reservedCents",
      coalesce(sum(p.fee_cents) FILTER (WHERE j.template = 'release'), 0)::bigint AS "releasedCents"
    FROM journal j JOIN payment p ON p.account_id = j.account_id AND p.id = j.subject
    WHERE j.account_id = $1 AND j.chain_id = $2 AND j.seq > $3 AND j.seq <= $4 AND j.template IN ('reserve', 'release')`,
};

/** As `findSums`, and a payment for each transfer of the stretch. */
export const findTransferFees = async (
  sql: Queries,
  scope: Scope,
  afterSeq: number,
  lastSeq: number,
): Promise<TransferFees> =>
  (
    await sql.run<TransferFees>(selectTransferFees, [scope.accountId, scope.operationId, afterSeq, lastSeq])
  )[0] ?? { reservedCents: 0, releasedCents: 0 };

const selectClosed: Statement = {
  name: 'statement_closed',
  text: `SELECT coalesce(min(opening_seq), $3) AS "fromSeq", coalesce(max(closing_seq), $3) AS "toSeq", coalesce(sum(in_cents), 0)::bigint AS "inCents",
      coalesce(sum(out_cents), 0)::bigint AS "outCents", coalesce(sum(fee_cents), 0)::bigint AS "feeCents",
      coalesce(sum(refund_cents), 0)::bigint AS "refundCents", coalesce(sum(hold_cents), 0)::bigint AS "holdCents"
    FROM day_close WHERE account_id = $1 AND chain_id = $2 AND opening_seq >= $3 AND closing_seq <= $4
      AND day >= coalesce($5::date, '-infinity') AND day <= coalesce($6::date, 'infinity')`,
};

/** The figures of the closed days within a stretch, and the stretch that they are of: each begins where the one before ended. */
export interface Closed extends Figures {
  fromSeq: number;
  toSeq: number;
}

/** @param days the first and the last that may hold journals of the stretch; null: no bound on that side */
export const findClosed = async (
  sql: Queries,
  scope: Scope,
  [afterSeq, lastSeq]: readonly [number, number],
  days: readonly [string | null, string | null],
): Promise<Closed> => {
  const values = [scope.accountId, scope.operationId, afterSeq, lastSeq, ...days];
  const [row] = await sql.run<Closed>(selectClosed, values);
  if (!row) throw new Error('a sum has no row');
  return row;
};

const selectPosted: Statement = {
  name: 'statement_posted',
  text: `SELECT posted_at AS "postedAt", available_after - receivable_after AS "balanceCents" FROM journal
    WHERE account_id = $1 AND chain_id = $2 AND seq = $3`,
};

/** When a journal was posted, and the balance after it. @throws Error there is none: `seq` has no gaps */
export async function findPosted(
  sql: Queries,
  scope: Scope,
  seq: number,
): Promise<{ postedAt: number; balanceCents: number }> {
  const [found] = await sql.run<{ postedAt: number; balanceCents: number }>(selectPosted, [
    scope.accountId,
    scope.operationId,
    seq,
  ]);
  if (!found) throw new Error('a chain has no journal of a seq below its last one');
  return found;
}

const selectNames: Statement = {
  name: 'statement_names',
  text: `SELECT a.name AS "accountName", a.test, o.name AS "operationName"
    FROM account a JOIN operation o ON o.account_id = a.id WHERE a.id = $1 AND o.id = $2 AND o.deleted_at IS NULL`,
};

/** Whose statement it is, as files name it. */
export interface Names {
  accountName: string;
  operationName: string;
  test: boolean;
}

export const findNames = async (sql: Queries, scope: Scope): Promise<Names | undefined> =>
  (await sql.run<Names>(selectNames, [scope.accountId, scope.operationId]))[0];
