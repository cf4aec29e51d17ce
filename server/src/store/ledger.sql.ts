import type { Balance } from '../money/decide.ts';
import type { EventKind, Journal } from '../money/journal.ts';
import type { Queries, Statement } from '../ports/sql.ts';
import {
  bigint,
  boolean,
  bytea,
  cents,
  describeRows,
  smallint,
  text,
  timestamptz,
  uuid,
} from './database/define-table.ts';

/** A row of `balance`: the columns of an operation (or of an account's own chain), its chain's head, and its freeze. */
export interface BalanceRow extends Balance {
  accountId: string;
  /** The operation's id, or the account's own. */
  chainId: string;
  frozen: boolean;
  seq: number;
  head: Buffer;
  updatedAt: number;
  deletedAt: number | null;
}

export interface EventRef {
  accountId: string;
  subject: string;
  event: EventKind;
  reference: string;
}

/** A row begins with its operation, and only the till changes it. */
export const balances = describeRows<BalanceRow>({
  name: 'balance',
  alias: 'b',
  key: ['accountId', 'chainId'],
  verbs: ['update'],
  columns: {
    accountId: uuid,
    chainId: uuid.named('operation_id'),
    available: cents.changes,
    reserved: cents.changes,
    held: cents.changes,
    receivable: cents.changes,
    holdWanted: cents.changes,
    cardHeld: cents.changes,
    frozen: boolean.changes,
    seq: bigint.changes,
    head: bytea.changes,
    updatedAt: timestamptz.changes,
    deletedAt: timestamptz.orNull,
  },
});

/**
 * FOR NO KEY UPDATE and not FOR UPDATE: the latter also blocks the foreign-key checks of other tables' inserts, which closes
 * a cycle between a till and the creation of an operation.
 */
const lock: Statement = {
  name: 'balance_lock',
  text: `SELECT ${balances.columns}
    FROM balance b JOIN unnest($1::uuid[], $2::uuid[]) AS k (account_id, operation_id) USING (account_id, operation_id)
    ORDER BY b.account_id, b.operation_id
    FOR NO KEY UPDATE OF b`,
};

/** Locks the chains in key order, whatever order they are given in. */
export const lockBalances = (
  tx: Queries,
  chains: readonly { accountId: string; chainId: string }[],
): Promise<BalanceRow[]> =>
  tx.run<BalanceRow>(lock, [chains.map((chain) => chain.accountId), chains.map((chain) => chain.chainId)]);

const findPosted: Statement = {
  name: 'journal_posted',
  text: `SELECT j.account_id AS "accountId", j.subject, j.event, j.reference, j.command, NULL AS connection, NULL AS pix
    FROM journal j JOIN unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::text[]) AS k (account_id, subject, event, reference)
      USING (account_id, subject, event, reference)`,
};

/** Which of these events are in the journal, each with the token of the command that posted it. */
export const readPosted = (
  tx: Queries,
  refs: readonly EventRef[],
): Promise<(EventRef & { command: string })[]> =>
  tx.run(findPosted, [
    refs.map((ref) => ref.accountId),
    refs.map((ref) => ref.subject),
    refs.map((ref) => ref.event),
    refs.map((ref) => ref.reference),
  ]);

/** A Pix that a connection received. */
export interface PixRef {
  connection: string;
  endToEnd: string;
}

/** Where a Pix is booked. */
export interface BookedPix extends PixRef {
  accountId: string;
  /** The payment. */
  subject: string;
}

const findPostedOrBooked: Statement = {
  name: 'journal_posted_or_booked',
  text: `${findPosted.text}
    UNION ALL SELECT j.account_id, j.subject, j.event, j.reference, j.command, j.connection, j.pix
    FROM journal j JOIN unnest($5::text[], $6::text[]) AS p (connection, pix) USING (connection, pix)`,
};

/** The same, and which of these Pix are booked, whatever their account, in one statement. */
export const readPostedOrBooked = (
  tx: Queries,
  refs: readonly EventRef[],
  pix: readonly PixRef[],
): Promise<(EventRef & { connection: string | null; pix: string | null })[]> =>
  tx.run(findPostedOrBooked, [
    refs.map((ref) => ref.accountId),
    refs.map((ref) => ref.subject),
    refs.map((ref) => ref.event),
    refs.map((ref) => ref.reference),
    pix.map((one) => one.connection),
    pix.map((one) => one.endToEnd),
  ]);

const lockOfPix: Statement = {
  name: 'pix_lock',
  text: `SELECT pg_advisory_xact_lock(place) FROM (SELECT DISTINCT hashtextextended(p.pix, hashtext(p.connection)) AS place
      FROM unnest($1::text[], $2::text[]) AS p (connection, pix) ORDER BY place) o`,
};

/**
 * Held to the end of the transaction: of two cells that book one Pix at the same time, the later one reads what the earlier one has committed. Locked in one
 * order, and before any row.
 */
export const lockPix = (tx: Queries, pix: readonly PixRef[]): Promise<unknown> =>
  tx.run(lockOfPix, [pix.map((one) => one.connection), pix.map((one) => one.endToEnd)]);

const bookedIn = (cell: string): Statement => ({
  name: `pix_booked_in_${cell}`,
  text: `SELECT j.account_id AS "accountId", j.subject, j.connection, j.pix AS "endToEnd"
    FROM "${cell}".journal j JOIN unnest($1::text[], $2::text[]) AS p (connection, pix) USING (connection, pix)`,
});

/** Which of these Pix other cells have booked. A statement for each: Citus sends one that names a single cell to its node. */
export const readBookedIn = async (
  tx: Queries,
  cells: readonly string[],
  pix: readonly PixRef[],
): Promise<BookedPix[]> => {
  const keys = [pix.map((one) => one.connection), pix.map((one) => one.endToEnd)];
  return (await Promise.all(cells.map((cell) => tx.run<BookedPix>(bookedIn(cell), keys)))).flat();
};

type Lines = Journal['lines'];

interface JournalRow extends Omit<Journal, 'lines' | 'after'>, Lines {
  availableAfter: number;
  reservedAfter: number;
  heldAfter: number;
  receivableAfter: number;
  cardHeldAfter: number;
}

export const journals = describeRows<JournalRow>({
  name: 'journal',
  alias: 'j',
  key: ['accountId', 'chainId', 'seq'],
  verbs: ['insert'],
  columns: {
    accountId: uuid,
    chainId: uuid,
    seq: bigint,
    template: text,
    subject: uuid,
    event: smallint,
    reference: text,
    available: cents,
    reserved: cents,
    held: cents.mostlyZero,
    receivable: cents.mostlyZero,
    clearing: cents,
    feeRevenue: cents,
    providerCost: cents.mostlyZero,
    suspense: cents.mostlyZero,
    adjustments: cents.mostlyZero,
    availableAfter: cents,
    reservedAfter: cents,
    heldAfter: cents.mostlyZero,
    receivableAfter: cents.mostlyZero,
    effectiveAt: timestamptz,
    postedAt: timestamptz,
    command: uuid,
    version: smallint,
    previous: bytea,
    hash: bytea,
    connection: text.orNull,
    pix: text.orNull,
    cardHeld: cents.mostlyZero,
    cardHeldAfter: cents.mostlyZero,
  },
});

/** Its lines are columns. Each is named: to spread two objects into one, and to leave members out, took a microsecond for each journal. */
const journalRow = (journal: Journal): JournalRow => {
  const { lines, after } = journal;
  return {
    ...journal,
    available: lines.available,
    reserved: lines.reserved,
    held: lines.held,
    receivable: lines.receivable,
    clearing: lines.clearing,
    feeRevenue: lines.feeRevenue,
    providerCost: lines.providerCost,
    suspense: lines.suspense,
    adjustments: lines.adjustments,
    cardHeld: lines.cardHeld,
    availableAfter: after.available,
    reservedAfter: after.reserved,
    heldAfter: after.held,
    receivableAfter: after.receivable,
    cardHeldAfter: after.cardHeld,
  };
};

export const insertJournals = (tx: Queries, posted: readonly Journal[]): Promise<unknown> =>
  journals.insert(tx, posted.map(journalRow));

export const updateBalances = (tx: Queries, rows: readonly BalanceRow[]): Promise<unknown> =>
  balances.update(tx, rows);
